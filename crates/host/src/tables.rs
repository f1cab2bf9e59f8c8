//! Access to tables by an index that must exist.
//!
//! Contract: hosts, connections and queries are numbered before the run, and each number has a row.
//! A missing row is a bug of this crate, so access panics; a run that ignores it has wrong results.
//! Nothing from outside selects a row: a scenario is checked before its run.

use std::fmt::Debug;

/// An entry of a table.
pub(crate) trait Row {
    /// The name of its table.
    const TABLE: &'static str;

    /// Key of an entry.
    type Key;

    fn index(key: Self::Key) -> usize;
}

/// A table of `T`.
pub(crate) trait Table<T: Row> {
    /// Returns the row of `key`; panics without it.
    fn row(&self, key: T::Key) -> &T;

    /// Returns the row of `key`; panics without it.
    fn row_mut(&mut self, key: T::Key) -> &mut T;
}

impl<T: Row> Table<T> for [T] {
    #[inline]
    #[track_caller]
    fn row(&self, key: T::Key) -> &T {
        let index = T::index(key);
        self.get(index).unwrap_or_else(|| missing(T::TABLE, index))
    }

    #[inline]
    #[track_caller]
    fn row_mut(&mut self, key: T::Key) -> &mut T {
        let index = T::index(key);
        let Some(row) = self.get_mut(index) else { missing(T::TABLE, index) };
        row
    }
}

/// Panics because `table` has no row `index`.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn missing(table: &str, index: impl Debug) -> ! {
    panic!("the table of {table} has no row {index:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Number(u32);

    impl Row for Number {
        const TABLE: &'static str = "numbers";
        type Key = u32;

        fn index(key: u32) -> usize {
            key as usize
        }
    }

    #[test]
    fn a_key_selects_its_row() {
        let mut table = [Number(7), Number(8)];
        table.row_mut(1).0 += 1;
        assert_eq!((table.row(0), table.row(1)), (&Number(7), &Number(9)));
    }

    #[test]
    #[should_panic(expected = "the table of numbers has no row 2")]
    fn a_missing_row_panics_with_the_table_and_the_index() {
        [Number(7), Number(8)].row_mut(2);
    }
}
