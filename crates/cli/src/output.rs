//! Output of commands on stdout: text, tables, or one JSON object.

use std::io::{IsTerminal, Write};

use comfy_table::{
    CellAlignment, ContentArrangement, ContentLineStyle, LineStyle, Table, TableStyle,
};
use serde::Serialize;

use crate::error::CommandError;

/// One line below the header and no others keeps long tables short.
const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none())
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .content_lines(ContentLineStyle::none());

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

/// Output mode of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// One JSON object instead of text.
    pub(crate) json: bool,
    /// Only errors on stderr.
    pub(crate) quiet: bool,
}

impl Output {
    /// Prints `text` and a line end. A closed pipe (`lowtide list | head`) ends the command without
    /// an error.
    #[expect(clippy::unused_self, reason = "a method like `json` and `table`")]
    pub(crate) fn text(self, text: &str) -> Result<(), CommandError> {
        Self::raw(&format!("{}\n", text.trim_end()))
    }

    /// Prints `text` as it is.
    pub(crate) fn raw(text: &str) -> Result<(), CommandError> {
        match std::io::stdout().lock().write_all(text.as_bytes()) {
            Ok(()) => Ok(()),
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Err(CommandError::ClosedPipe),
            Err(e) => Err(CommandError::Run(format!("cannot write to stdout: {e}"))),
        }
    }

    /// Prints `value` as JSON.
    pub(crate) fn json(self, value: &impl Serialize) -> Result<(), CommandError> {
        let text = serde_json::to_string_pretty(value)
            .map_err(|e| CommandError::Run(format!("cannot write the result as JSON: {e}")))?;
        self.text(&text)
    }

    /// Prints a table; the columns `right` are aligned to the right.
    pub(crate) fn table(
        self,
        header: &[&str],
        right: &[usize],
        rows: &[Vec<String>],
    ) -> Result<(), CommandError> {
        let mut table = table(header, right, rows);
        if std::io::stdout().is_terminal() {
            table.set_content_arrangement(ContentArrangement::Dynamic);
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
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }
}
