//! Output of commands on stdout: text, tables, or one JSON object.

use std::io;

use comfy_table::{
    CellAlignment, ContentArrangement, ContentLineStyle, LineStyle, Table, TableStyle,
};
use lowtide_output::terminal::printable;
use lowtide_output::{json, streams};
use serde::Serialize;

use crate::args::ProgressForm;
use crate::error::CommandError;

/// One line below the header and no others keeps long tables short.
const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none())
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .content_lines(ContentLineStyle::none());

/// A text cell is wrapped rather than narrower than this.
const MIN_TEXT: usize = 12;

/// Returns the columns of the terminal on stdout.
fn terminal_width() -> Option<u16> {
    streams::stdout_is_terminal().then(|| console::Term::stdout().size().1)
}

/// Returns how many columns of a table fit into `width`, at least one: numbers are not wrapped, and
/// of texts at least [`MIN_TEXT`] characters or the longest word are shown.
fn fitting_columns(header: &[&str], right: &[usize], rows: &[Vec<String>], width: u16) -> usize {
    let mut left = usize::from(width);
    for (i, title) in header.iter().enumerate() {
        let cells = rows.iter().filter_map(|row| row.get(i)).map(String::as_str);
        let length = |text: &str| {
            let whole = text.chars().count();
            let word = text.split_whitespace().map(|w| w.chars().count()).max().unwrap_or(0);
            if right.contains(&i) { whole } else { whole.min(MIN_TEXT.max(word)) }
        };
        // One column of space on each side.
        let needed = cells.chain([*title]).map(length).max().unwrap_or(0) + 2;
        if needed > left && i > 0 {
            return i;
        }
        left = left.saturating_sub(needed);
    }
    header.len()
}

/// Columns of tables and paragraphs of results.
const WIDTH: u16 = 80;

fn table(header: &[&str], right: &[usize], rows: &[Vec<String>]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(header.iter().copied());
    for row in rows {
        table.add_row(row);
    }
    for &i in right {
        if let Some(column) = table.column_mut(i) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// The fields of `body` after the name of their format and the version of this program.
#[derive(Serialize)]
pub(crate) struct JsonAnswer<'a, T> {
    schema: &'static str,
    version: &'static str,
    #[serde(flatten)]
    body: &'a T,
}

impl<'a, T> JsonAnswer<'a, T> {
    pub(crate) const fn new(schema: &'static str, body: &'a T) -> Self {
        Self { schema, version: env!("CARGO_PKG_VERSION"), body }
    }
}

/// Output mode of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// One JSON object instead of text.
    pub(crate) json: bool,
    /// Only errors on stderr.
    pub(crate) quiet: bool,
    /// Form of progress on stderr; none with `quiet`.
    pub(crate) progress: ProgressForm,
}

impl Output {
    /// Prints `text` and a line end, without control characters. A closed pipe (`lowtide list |
    /// head`) ends the command without an error.
    #[expect(clippy::unused_self, reason = "a method like `json` and `table`")]
    pub(crate) fn text(self, text: &str) -> Result<(), CommandError> {
        streams::data(&format!("{}\n", printable(text.trim_end()))).map_err(|e| unwritable(&e))
    }

    /// Prints a file of some format as it is, or without control characters on a terminal.
    pub(crate) fn raw(text: &str) -> Result<(), CommandError> {
        streams::data_or_printable(text).map_err(|e| unwritable(&e))
    }

    /// Prints the fields of `body` as JSON of the format `schema` (`lowtide.plan/2`).
    pub(crate) fn answer(
        self,
        schema: &'static str,
        body: &impl Serialize,
    ) -> Result<(), CommandError> {
        self.json(&JsonAnswer::new(schema, body))
    }

    /// Prints `value` as JSON while it is serialised.
    #[expect(clippy::unused_self, reason = "a method like `text` and `table`")]
    pub(crate) fn json(self, value: &impl Serialize) -> Result<(), CommandError> {
        streams::data_with(|out| {
            json::write(out, value)?;
            io::Write::write_all(out, b"\n")
        })
        .map_err(|e| unwritable(&e))
    }

    /// Prints a table; the columns `right` are aligned to the right.
    pub(crate) fn table(
        self,
        header: &[&str],
        right: &[usize],
        rows: &[Vec<String>],
    ) -> Result<(), CommandError> {
        let width = terminal_width();
        let kept = width.map_or(header.len(), |width| fitting_columns(header, right, rows, width));
        if kept < header.len() {
            self.note(&format!(
                "{kept} of {} columns fit this terminal; a pipe (`| less -S`) or --json has all",
                header.len()
            ));
        }
        let shown: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().take(kept).cloned().collect()).collect();
        let mut table = table(&header[..kept], right, &shown);
        if let Some(width) = width {
            table.set_width(width).set_content_arrangement(ContentArrangement::Dynamic);
        }
        self.text(&table.trim_fmt())
    }

    /// Prints a table within [`WIDTH`] columns: long cells are wrapped.
    pub(crate) fn narrow_table(
        self,
        header: &[&str],
        right: &[usize],
        rows: &[Vec<String>],
    ) -> Result<(), CommandError> {
        let mut table = table(header, right, rows);
        for column in table.column_iter_mut() {
            column.set_padding((0, 0));
        }
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
        self.text(&table.trim_fmt())
    }

    /// Prints a paragraph, wrapped to [`WIDTH`] columns.
    pub(crate) fn paragraph(self, text: &str) -> Result<(), CommandError> {
        self.text(&textwrap::fill(text, usize::from(WIDTH)))
    }

    /// Prints a remark on stderr; write errors are ignored.
    pub(crate) fn note(self, text: &str) {
        if !self.quiet {
            streams::note(text);
        }
    }
}

/// The error of a write to stdout.
pub(crate) fn unwritable(error: &io::Error) -> CommandError {
    match error.kind() {
        io::ErrorKind::BrokenPipe => CommandError::ClosedPipe,
        _ => CommandError::Unwritable(format!(
            "cannot write to stdout: {error}; write to another file or pipe"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_do_not_fit_the_terminal_are_left_out() {
        let header = ["scheme", "seed", "what it does", "digest"];
        let row = ["dctcp", "1", "cuts the window by the share of marks", "0123456789abcdef"];
        let rows = [row.map(str::to_owned).to_vec()];
        let fit = |width| fitting_columns(&header, &[1], &rows, width);
        assert_eq!(fit(80), 4);
        // 8 + 6 + 14 + 18 columns.
        assert_eq!((fit(46), fit(45), fit(28), fit(27)), (4, 3, 3, 2));
        assert_eq!(fit(3), 1, "at least one");
    }
}
