//! Characters of arguments. Arguments become names, labels, and lines of generated files, so none
//! may have a control character: a second line of a systemd unit, an escape sequence of a terminal.

use std::ffi::OsString;

use lowtide_output::control::find_unprintable;
use lowtide_output::terminal::printable;

use crate::error::CommandError;

/// Longest part of an argument that an error shows, characters.
const SHOWN: usize = 60;

/// Checks the arguments of the process, before anything reads or prints them.
///
/// # Errors
/// An argument has a control character. The error names the option before it.
pub(crate) fn check(args: &[OsString]) -> Result<(), CommandError> {
    for (i, arg) in args.iter().enumerate() {
        let text = arg.to_string_lossy();
        let Some(found) = find_unprintable(&text) else { continue };
        let option = |arg: &str| arg.starts_with('-').then(|| format!("`{arg}`"));
        let before = i.checked_sub(1).and_then(|i| args.get(i)?.to_str()).and_then(option);
        let inline = text.split_once('=').and_then(|(name, _)| option(name));
        let name = inline.or(before).filter(|name| find_unprintable(name).is_none());
        let name =
            name.map_or_else(|| format!("argument {}", i + 1), |o| format!("the value of {o}"));
        let shown: String = text.chars().take(SHOWN).collect();
        let shown = printable(&shown).replace('\n', "\\n").replace('\t', "\\t");
        let message = format!("{name} has {found}: `{shown}`; remove it");
        return Err(CommandError::Usage(message, None));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(args: &[&str]) -> String {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        match check(&args) {
            Err(CommandError::Usage(message, None)) => message,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn the_option_with_a_control_character_is_named() {
        assert_eq!(refusal(&["run", "é.toml", "-s", "switch.mark.k=65 pkt"]), "Ok(())");
        assert_eq!(
            refusal(&["kernel", "unit", "dctcp", "--cgroup", "/a\nExecStart=/bin/sh"]),
            "the value of `--cgroup` has a line feed (U+000A): `/a\\nExecStart=/bin/sh`; remove it"
        );
        assert_eq!(
            refusal(&["run", "--out=a\u{1b}[2J"]),
            "the value of `--out` has an escape character (U+001B): `--out=a\\u{1b}[2J`; remove it"
        );
        assert_eq!(
            refusal(&["\u{9b}2J"]),
            "argument 1 has a control character (U+009B): `\\u{9b}2J`; remove it"
        );
    }
}
