//! Options of a chore: `--name value` and `--flag`, and at most one positional argument.

/// Parsed arguments.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    pub(crate) word: Option<String>,
    options: Vec<(String, Option<String>)>,
}

impl Arguments {
    /// Parses `arguments`; `valued` options take a value, `flags` take none.
    pub(crate) fn read(
        arguments: &[String],
        valued: &[&str],
        flags: &[&str],
    ) -> Result<Self, String> {
        let mut out = Self::default();
        let mut rest = arguments.iter();
        while let Some(next) = rest.next() {
            if valued.contains(&next.as_str()) {
                let value = rest.next().ok_or_else(|| format!("`{next}` needs a value"))?;
                out.options.push((next.clone(), Some(value.clone())));
            } else if flags.contains(&next.as_str()) {
                out.options.push((next.clone(), None));
            } else if next.starts_with('-') || out.word.is_some() {
                return Err(format!("`{next}` is not known here"));
            } else {
                out.word = Some(next.clone());
            }
        }
        Ok(out)
    }

    /// Number given for `name`, or `default`.
    pub(crate) fn number(&self, name: &str, default: u64) -> Result<u64, String> {
        let found = self.options.iter().rev().find(|(n, _)| n == name);
        let Some((_, Some(value))) = found else { return Ok(default) };
        value.parse().map_err(|_| format!("`{name} {value}`: a whole number is needed"))
    }

    /// True if the option was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(n, _)| n == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Arguments, String> {
        let arguments: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Arguments::read(&arguments, &["--cases", "-j"], &["--long"])
    }

    #[test]
    fn options_flags_and_a_word() {
        let a = read("wire --cases 20 --long -j 2 --cases 30").unwrap();
        assert_eq!(a.word.as_deref(), Some("wire"));
        assert_eq!((a.number("--cases", 1), a.number("-j", 1)), (Ok(30), Ok(2)));
        assert!(a.has("--long") && !a.has("--keep"));
        assert_eq!(a.number("--seed", 7), Ok(7));
    }

    #[test]
    fn wrong_arguments_are_named() {
        assert!(read("--cases").unwrap_err().contains("--cases"));
        assert!(read("--case 3").unwrap_err().contains("--case"));
        assert!(read("one two").unwrap_err().contains("two"));
        assert!(read("--cases many").unwrap().number("--cases", 1).unwrap_err().contains("many"));
    }
}
