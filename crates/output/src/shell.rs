//! Commands for a POSIX shell, to be copied or run as a script.

/// Returns `text` as one word, quoted if necessary.
pub fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:+@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    // No argument of a command can have NUL, which no quoting can express.
    shlex::try_quote(&text.replace('\0', "\u{fffd}")).map_or_else(|_| "''".to_owned(), Into::into)
}

/// Returns the command of these words.
pub fn command<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Returns a command that somebody else wrote so that a shell reads only words: operators,
/// substitutions and line ends have no effect. A text with an open quote is one word.
pub fn requoted(text: &str) -> String {
    match shlex::split(text) {
        Some(words) => command(words.iter().map(String::as_str)),
        None => word(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The judge is the shell itself.
    #[test]
    fn a_shell_reads_each_word_as_it_was() {
        for text in [
            "run.toml",
            "",
            "a b",
            "$(reboot)",
            "`id`",
            "it's",
            "!!",
            "a\nb",
            "~root",
            "-s=a*",
            "\\",
            "a\"$x'",
            "#c",
            "{a,b}",
            "^x",
            "é東",
            "a;b&c|d>e",
        ] {
            let script = format!("printf %s {}", word(text));
            for shell in ["sh", "bash"] {
                let output = std::process::Command::new(shell).args(["-c", &script]).output();
                let output = output.unwrap();
                assert_eq!(String::from_utf8(output.stdout).unwrap(), text, "{script}");
                assert!(output.status.success() && output.stderr.is_empty(), "{script}");
            }
        }
        let own = "lowtide run -s 'a=1 ms' --out=x,y";
        assert_eq!(requoted(own), own);
        assert_eq!(requoted("lowtide run x; rm -r $HOME"), "lowtide run 'x;' rm -r '$HOME'");
        assert_eq!(requoted("it's"), "\"it's\"");
        assert_eq!(command(["lowtide", "run", "-s", "a=1 ms"]), "lowtide run -s 'a=1 ms'");
    }
}
