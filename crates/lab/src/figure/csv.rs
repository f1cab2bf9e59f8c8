//! The data of a figure as comma-separated values (RFC 4180, but with a bare
//! line feed).

use std::fmt::Write as _;

/// A table that grows row by row.
#[derive(Debug)]
pub(super) struct Csv {
    text: String,
}

impl Csv {
    /// Starts with the names of the columns, units in parentheses.
    pub(super) fn new(columns: &[&str]) -> Self {
        let mut csv = Self { text: String::new() };
        csv.row(columns.iter().map(|&name| Cell::from(name)));
        csv
    }

    /// Adds a row.
    pub(super) fn row<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>) {
        for (index, cell) in cells.into_iter().enumerate() {
            if index > 0 {
                self.text.push(',');
            }
            match cell {
                Cell::Text(text) if text.contains(['"', ',', '\n', '\r']) => {
                    self.text.push('"');
                    self.text.push_str(&text.replace('"', "\"\""));
                    self.text.push('"');
                }
                Cell::Text(text) => self.text.push_str(text),
                // Writing to a string cannot fail.
                Cell::Number(value) => drop(write!(self.text, "{value}")),
                Cell::Count(value) => drop(write!(self.text, "{value}")),
                Cell::Empty => {}
            }
        }
        self.text.push('\n');
    }

    /// The finished file.
    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// One cell of a [`Csv`].
#[derive(Debug, Clone, Copy)]
pub(super) enum Cell<'a> {
    /// Quoted where needed.
    Text(&'a str),
    /// The shortest text that reads back to the same number.
    Number(f64),
    /// A whole number.
    Count(u64),
    /// A value that does not exist.
    Empty,
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Cell::Text(text)
    }
}

impl From<f64> for Cell<'_> {
    fn from(value: f64) -> Self {
        Cell::Number(value)
    }
}

impl From<u64> for Cell<'_> {
    fn from(value: u64) -> Self {
        Cell::Count(value)
    }
}

impl From<Option<f64>> for Cell<'_> {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Cell::Empty, Cell::Number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_what_would_break_a_row() {
        let mut csv = Csv::new(&["a", "b, c"]);
        csv.row(["say \"x\"".into(), Cell::from(0.1)]);
        csv.row([Cell::from(None), 3_u64.into()]);
        assert_eq!(csv.finish(), "a,\"b, c\"\n\"say \"\"x\"\"\",0.1\n,3\n");
    }
}
