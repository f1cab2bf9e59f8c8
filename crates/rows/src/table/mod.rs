//! Declaration of tables and of groups of columns.
//!
//! Contract: the declaration of a struct is the only definition of its columns. Each field has the
//! name of its column and a value in the unit of the column. A field that is itself a group of
//! columns adds those of the group, so counters that were filled elsewhere become columns without a
//! copy of their fields.

mod shared;
mod value;

use core::slice;

pub use value::{Cell, ColumnType, Value};

/// One column of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name. Times, sizes and rates have their unit as suffix (`_ps`, `_bytes`).
    pub name: &'static str,
    /// Its unit; empty for names, identifiers and plain counts.
    pub unit: &'static str,
    /// Its description, in one sentence.
    pub description: &'static str,
    /// The type of its values.
    pub kind: ColumnType,
    /// Whether a value may be absent.
    pub nullable: bool,
}

/// A struct whose fields are consecutive columns.
pub trait Columns: Sized {
    /// The columns, in order.
    const COLUMNS: &'static [Column];
    /// Whether all values may be absent together.
    const OPTIONAL: bool = false;

    /// Appends the values, in the order of the columns.
    fn cells<'a>(&'a self, out: &mut Vec<Cell<'a>>);

    /// Takes the values from the front of `cells`.
    ///
    /// # Errors
    /// The name of a column whose value is missing or of another type.
    fn from_cells(cells: &mut slice::Iter<'_, Cell<'_>>) -> Result<Self, &'static str>;
}

/// An optional group: all its cells are null if it is `None`.
impl<T: Columns> Columns for Option<T> {
    const COLUMNS: &'static [Column] = T::COLUMNS;
    const OPTIONAL: bool = true;

    fn cells<'a>(&'a self, out: &mut Vec<Cell<'a>>) {
        match self {
            Some(group) => group.cells(out),
            None => out.extend(T::COLUMNS.iter().map(|_| Cell::Null)),
        }
    }

    fn from_cells(cells: &mut slice::Iter<'_, Cell<'_>>) -> Result<Self, &'static str> {
        match cells.as_slice().split_at_checked(T::COLUMNS.len()) {
            Some((own, rest)) if own.iter().all(|cell| *cell == Cell::Null) => {
                *cells = rest.iter();
                Ok(None)
            }
            _ => T::from_cells(cells).map(Some),
        }
    }
}

/// A row of a table.
pub trait Row: Columns {
    /// Name of the table and of its file.
    const TABLE: &'static str;
    /// Meaning of a row, in sentences.
    const DESCRIPTION: &'static str;
}

/// Consecutive columns of a declaration, for [`join`].
pub(crate) struct ColumnRange {
    pub(crate) columns: &'static [Column],
    pub(crate) optional: bool,
}

/// Returns the number of columns.
pub(crate) const fn count(ranges: &[ColumnRange]) -> usize {
    let (mut total, mut i) = (0, 0);
    while i < ranges.len() {
        total += ranges[i].columns.len();
        i += 1;
    }
    total
}

/// Returns all columns in one list; `N` is [`count`].
pub(crate) const fn join<const N: usize>(ranges: &[ColumnRange]) -> [Column; N] {
    let none =
        Column { name: "", unit: "", description: "", kind: ColumnType::Bool, nullable: false };
    let mut all = [none; N];
    let (mut at, mut i) = (0, 0);
    while i < ranges.len() {
        let mut j = 0;
        while j < ranges[i].columns.len() {
            all[at] = ranges[i].columns[j];
            all[at].nullable |= ranges[i].optional;
            at += 1;
            j += 1;
        }
        i += 1;
    }
    all
}

/// Declares a row type and its table: `Type, "table", "description":`, then
/// `field: Type, "unit", "description";` for a column, `field: Type;` for a group of columns
/// ([`group`]), and `..name;` for columns that several tables share ([`shared`]).
macro_rules! table {
    ($(#[$meta:meta])* $name:ident, $table:literal, $text:literal: $($columns:tt)+) => {
        crate::table::group! { #[doc = $text] $(#[$meta])* $name: $($columns)+ }

        impl crate::table::Row for $name {
            const TABLE: &'static str = $table;
            const DESCRIPTION: &'static str = $text;
        }
    };
}

/// Declares a struct whose fields are columns; see [`table`].
macro_rules! group {
    ($(#[$meta:meta])* $name:ident: $($columns:tt)+) => {
        crate::table::group! { {$(#[$meta])* $name} {} $($columns)+ }
    };
    ($head:tt {$($done:tt)*}
        $($(#[$doc:meta])* $field:ident: $ty:ty $(, $unit:literal, $text:literal)?;)*
        ..$shared:ident; $($rest:tt)*
    ) => {
        crate::table::columns! {
            $shared $head
            {$($done)* $($(#[$doc])* $field: $ty $(, $unit, $text)?;)*}
            $($rest)*
        }
    };
    ({$($head:tt)*} {$($done:tt)*} $($rest:tt)*) => {
        crate::table::group! { = $($head)*, $($done)* $($rest)* }
    };
    (=
        $(#[$meta:meta])*
        $name:ident,
        $($(#[$doc:meta])* $field:ident: $ty:ty $(, $unit:literal, $text:literal)?;)+
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug)]
        pub struct $name {
            $($(#[$doc])* $(#[doc = $text])? pub $field: $ty,)+
        }

        impl crate::table::Columns for $name {
            const COLUMNS: &'static [crate::table::Column] = {
                const RANGES: &[crate::table::ColumnRange] =
                    &[$(crate::table::range!($field: $ty $(, $unit, $text)?)),+];
                const ALL: [crate::table::Column; crate::table::count(RANGES)] =
                    crate::table::join(RANGES);
                &ALL
            };

            fn cells<'a>(&'a self, out: &mut Vec<crate::table::Cell<'a>>) {
                $(crate::table::put!(out, &self.$field $(, $unit)?);)+
            }

            fn from_cells(
                cells: &mut core::slice::Iter<'_, crate::table::Cell<'_>>,
            ) -> Result<Self, &'static str> {
                Ok(Self { $($field: crate::table::take!(cells, $field: $ty $(, $unit)?)),+ })
            }
        }
    };
}

/// The columns of one field.
macro_rules! range {
    ($field:ident: $ty:ty, $unit:literal, $text:literal) => {
        crate::table::ColumnRange {
            columns: &[crate::table::Column {
                name: stringify!($field),
                unit: $unit,
                description: $text,
                kind: <$ty as crate::table::Value>::KIND,
                nullable: <$ty as crate::table::Value>::NULLABLE,
            }],
            optional: false,
        }
    };
    ($field:ident: $ty:ty) => {
        crate::table::ColumnRange {
            columns: <$ty as crate::table::Columns>::COLUMNS,
            optional: <$ty as crate::table::Columns>::OPTIONAL,
        }
    };
}

/// Appends the cells of one field.
macro_rules! put {
    ($out:ident, $field:expr, $unit:literal) => {
        $out.push(crate::table::Value::cell($field))
    };
    ($out:ident, $field:expr) => {
        crate::table::Columns::cells($field, $out)
    };
}

/// Takes the cells of one field.
macro_rules! take {
    ($cells:ident, $field:ident: $ty:ty, $unit:literal) => {
        $cells
            .next()
            .and_then(|cell| <$ty as crate::table::Value>::from_cell(*cell))
            .ok_or(stringify!($field))?
    };
    ($cells:ident, $field:ident: $ty:ty) => {
        <$ty as crate::table::Columns>::from_cells($cells)?
    };
}

pub(crate) use shared::columns;
pub(crate) use value::names;
pub(crate) use {group, put, range, table, take};

#[cfg(test)]
#[expect(unreachable_pub, reason = "the macro makes rows public")]
mod tests {
    use super::*;

    group! {
        /// Two counters.
        #[derive(Copy)]
        Counters:
        sent: u64, "packets", "Packets sent.";
        lost: u64, "packets", "Packets lost.";
    }

    table! {
        Small, "small", "A table with a group and an optional one.":
        number: u32, "", "Its number.";
        /// Counters that are always known.
        known: Counters;
        note: Option<String>, "", "A note.";
        /// Counters that some do not count.
        unknown: Option<Counters>;
    }

    #[test]
    fn groups_are_flat_and_an_optional_group_is_nullable() {
        assert_eq!(Small::TABLE, "small");
        assert_eq!(Small::DESCRIPTION, "A table with a group and an optional one.");
        let columns: Vec<(&str, bool)> =
            Small::COLUMNS.iter().map(|c| (c.name, c.nullable)).collect();
        let expected = [
            ("number", false),
            ("sent", false),
            ("lost", false),
            ("note", true),
            ("sent", true),
            ("lost", true),
        ];
        assert_eq!(columns, expected);
        assert_eq!((Small::COLUMNS[1].unit, Small::COLUMNS[3].unit), ("packets", ""));
    }

    #[test]
    fn a_row_is_read_back_from_its_cells() {
        let known = Counters { sent: 5, lost: 1 };
        let rows = [
            Small { number: 7, known, note: Some("here".into()), unknown: None },
            Small { number: 8, known, note: None, unknown: Some(known) },
        ];
        for row in rows {
            let mut cells = Vec::new();
            row.cells(&mut cells);
            assert_eq!(cells.len(), Small::COLUMNS.len());
            assert_eq!(Small::from_cells(&mut cells.iter()), Ok(row.clone()));
            cells[2] = Cell::Null;
            assert_eq!(Small::from_cells(&mut cells.iter()), Err("lost"));
        }
    }

    #[test]
    fn an_optional_group_is_known_as_a_whole() {
        let some = [Cell::Int(1), Cell::Null];
        assert_eq!(Option::<Counters>::from_cells(&mut some.iter()), Err("lost"));
    }
}
