//! Line breaks of generated pages.

/// Longest line of prose on a page, columns.
const COLUMNS: usize = 100;

/// Breaks long lines of prose; table rows and code stay, items are indented.
pub(crate) fn wrapped(page: &str) -> String {
    let mut out = String::new();
    for line in page.lines() {
        if line.chars().count() <= COLUMNS || line.starts_with('|') || line.starts_with("lowtide ")
        {
            out.push_str(line);
        } else {
            let indent = if line.starts_with("- ") { "  " } else { "" };
            let options = textwrap::Options::new(COLUMNS)
                .subsequent_indent(indent)
                .break_words(false)
                .word_separator(textwrap::WordSeparator::AsciiSpace)
                .word_splitter(textwrap::WordSplitter::NoHyphenation);
            out.push_str(&textwrap::fill(line, options));
        }
        out.push('\n');
    }
    out
}
