//! Settings of an experiment that its paper does not state.
//!
//! A scenario file marks such a setting by a comment that begins with `not stated`.

/// First words of the comment.
const MARK: &str = "not stated";

/// A setting that the paper does not state.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct UnstatedSetting {
    /// Key with its table: `switch.buffer`.
    pub(crate) key: String,
    /// The value in the file.
    pub(crate) value: String,
    /// The remainder of the comment; may be empty.
    pub(crate) reason: String,
}

/// The settings of `scenario` with such a comment, in the order of the file.
pub(crate) fn unstated_settings(scenario: &str) -> Vec<UnstatedSetting> {
    let mut table = "";
    let mut out = Vec::new();
    for line in scenario.lines() {
        if let Some(name) = line.strip_prefix('[') {
            table = name.split(']').next().unwrap_or_default();
            continue;
        }
        let (setting, comment) = split_comment(line);
        let Some((key, value)) = setting.split_once('=') else { continue };
        let Some(reason) = comment.trim().strip_prefix(MARK) else { continue };
        let key = key.trim().trim_matches('"');
        // A sweep is a table whose keys are whole paths.
        let path = if table.is_empty() || table == "sweep" {
            key.to_owned()
        } else {
            format!("{table}.{key}")
        };
        out.push(UnstatedSetting {
            key: path,
            value: value.trim().trim_matches('"').to_owned(),
            reason: reason.trim_start_matches([':', ';', '.', ',', ' ']).to_owned(),
        });
    }
    out
}

/// The parts of a line before and after the `#` of its comment; a `#` in a string begins none.
fn split_comment(line: &str) -> (&str, &str) {
    let mut in_string = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => in_string = !in_string,
            '#' if !in_string => return (&line[..at], &line[at + 1..]),
            _ => {}
        }
    }
    (line, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_comments_that_say_so_are_listed() {
        let text = "\
title = \"a # b\"
[switch]
buffer = \"1 MB\"   # not stated; never full
k = \"20 pkt\"      # §4
[sweep]
\"traffic.short.count\" = [2, 12] # not stated
";
        let setting = |key: &str, value: &str, reason: &str| UnstatedSetting {
            key: key.into(),
            value: value.into(),
            reason: reason.into(),
        };
        assert_eq!(
            unstated_settings(text),
            [
                setting("switch.buffer", "1 MB", "never full"),
                setting("traffic.short.count", "[2, 12]", "")
            ]
        );
    }
}
