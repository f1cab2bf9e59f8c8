//! Markdown (CommonMark 0.31, and the tables of GitHub's).

use crate::control::is_unprintable;

/// Returns `text` as a code span of one line, for running text and headings.
pub fn code(text: &str) -> String {
    let line = one_line(text);
    if line.trim().is_empty() {
        return "(empty)".to_owned();
    }
    let ticks = "`".repeat(longest_run(&line) + 1);
    // One space on each side is removed by readers, and separates a backtick of the text.
    let gap = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    format!("{ticks}{gap}{line}{gap}{ticks}")
}

/// As [`code`], for the cell of a table.
pub fn code_cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// Returns `text` for the cell of a table, without any markup.
pub fn cell(text: &str) -> String {
    let mut out = String::new();
    for c in one_line(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// Returns a block of code with this language, with its line end.
pub fn block(language: &str, text: &str) -> String {
    let fence = "`".repeat((longest_run(text) + 1).max(3));
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if is_unprintable(c) { ' ' } else { c }).collect()
}

/// Length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_of_a_text_has_no_effect() {
        assert_eq!(code("first-light"), "`first-light`");
        assert_eq!(code("x`</code><script>"), "``x`</code><script>``");
        assert_eq!(code("`a\n# b`"), "`` `a # b` ``");
        assert_eq!(code_cell("a | b"), "`a \\| b`");
        assert_eq!(cell("dctcp, newreno-ecn"), "dctcp, newreno-ecn");
        assert_eq!(cell("[x](y) <img>|\n1_0"), "\\[x\\](y) &lt;img>\\| 1\\_0");
        assert_eq!(block("sh", "lowtide run\n"), "```sh\nlowtide run\n```\n");
        assert_eq!(block("sh", "a\n```\nb"), "````sh\na\n```\nb\n````\n");
    }
}
