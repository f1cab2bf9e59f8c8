//! Arguments of a chore: flags, and at most one word.

/// Parsed arguments.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    pub(crate) word: Option<String>,
    flags: Vec<String>,
}

impl Arguments {
    /// Parses `arguments`, of which only `flags` begin with `-`.
    pub(crate) fn read(arguments: &[String], flags: &[&str]) -> Result<Self, String> {
        let mut out = Self::default();
        for next in arguments {
            if flags.contains(&next.as_str()) {
                out.flags.push(next.clone());
            } else if next.starts_with('-') || out.word.is_some() {
                return Err(format!("`{next}` is not known here"));
            } else {
                out.word = Some(next.clone());
            }
        }
        Ok(out)
    }

    /// True if the flag was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.flags.iter().any(|flag| flag == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Arguments, String> {
        let arguments: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Arguments::read(&arguments, &["--large", "--record"])
    }

    #[test]
    fn flags_and_a_word() {
        let a = read("--large wire").unwrap();
        assert_eq!(a.word.as_deref(), Some("wire"));
        assert!(a.has("--large") && !a.has("--record"));
    }

    #[test]
    fn wrong_arguments_are_named() {
        assert!(read("--larg").unwrap_err().contains("--larg"));
        assert!(read("one two").unwrap_err().contains("two"));
    }
}
