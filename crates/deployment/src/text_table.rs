//! A table of texts, for terminal and page.

/// A table of texts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextTable {
    /// Its title.
    pub title: String,
    /// Column heads.
    pub head: Vec<String>,
    /// Number of leading columns with names; the others are numbers.
    pub names: usize,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
}
