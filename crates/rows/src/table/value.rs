//! Types of values in tables.

use std::sync::Arc;

use crate::shared_text::SharedText;

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnType {
    /// `i64`: differences of columns are signed, as in every tool that reads them.
    Int,
    /// `f64`.
    F64,
    /// Truth value.
    Bool,
    /// UTF-8 text.
    Text,
}

/// One value in a table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cell<'a> {
    /// An absent value of any type.
    Null,
    /// An integer.
    Int(i64),
    /// A count beyond 2^63 - 1, which no column holds: writing a table with it is refused.
    TooLarge(u64),
    /// `f64`.
    F64(f64),
    /// Truth value.
    Bool(bool),
    /// UTF-8 text.
    Text(&'a str),
}

impl Cell<'_> {
    /// Returns the value as a number: true is one, false zero, and integers beyond 2^53 are
    /// rounded; `None` for a text or a null.
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Null | Self::Text(_) => None,
            Self::Int(value) => Some(value as f64),
            Self::TooLarge(value) => Some(value as f64),
            Self::F64(value) => Some(value),
            Self::Bool(value) => Some(f64::from(u8::from(value))),
        }
    }
}

/// A Rust type of column values. `Option` of it is a column with nulls.
pub trait Value: Sized {
    /// The type of the column.
    const KIND: ColumnType;
    /// Whether the value may be absent.
    const NULLABLE: bool = false;

    /// The value as a cell.
    fn cell(&self) -> Cell<'_>;

    /// The value of a cell; `None` if the cell has another type, or is a null that this type
    /// excludes.
    fn from_cell(cell: Cell<'_>) -> Option<Self>;
}

impl Cell<'_> {
    /// Returns the cell of a count.
    pub fn of_count(count: u64) -> Self {
        i64::try_from(count).map_or(Self::TooLarge(count), Self::Int)
    }
}

macro_rules! counts {
    ($($rust:ty;)*) => {$(
        impl Value for $rust {
            const KIND: ColumnType = ColumnType::Int;

            fn cell(&self) -> Cell<'_> {
                Cell::of_count(u64::from(*self))
            }

            fn from_cell(cell: Cell<'_>) -> Option<Self> {
                if let Cell::Int(value) = cell { Self::try_from(value).ok() } else { None }
            }
        }
    )*};
}

counts! {
    u16;
    u32;
    u64;
}

macro_rules! plain {
    ($($rust:ty, $kind:ident;)*) => {$(
        impl Value for $rust {
            const KIND: ColumnType = ColumnType::$kind;

            fn cell(&self) -> Cell<'_> {
                Cell::$kind(*self)
            }

            fn from_cell(cell: Cell<'_>) -> Option<Self> {
                if let Cell::$kind(value) = cell { Some(value) } else { None }
            }
        }
    )*};
}

plain! {
    f64, F64;
    bool, Bool;
}

macro_rules! texts {
    ($($rust:ty;)*) => {$(
        impl Value for $rust {
            const KIND: ColumnType = ColumnType::Text;

            fn cell(&self) -> Cell<'_> {
                Cell::Text(self)
            }

            fn from_cell(cell: Cell<'_>) -> Option<Self> {
                if let Cell::Text(value) = cell { Some(value.into()) } else { None }
            }
        }
    )*};
}

texts! {
    String;
    Arc<str>;
    SharedText;
}

impl<T: Value> Value for Option<T> {
    const KIND: ColumnType = T::KIND;
    const NULLABLE: bool = true;

    fn cell(&self) -> Cell<'_> {
        self.as_ref().map_or(Cell::Null, T::cell)
    }

    fn from_cell(cell: Cell<'_>) -> Option<Self> {
        if cell == Cell::Null { Some(None) } else { T::from_cell(cell).map(Some) }
    }
}

/// Declares an enum that tables name: `Variant = "name"`, with documentation.
macro_rules! names {
    (
        $(#[$meta:meta])*
        $name:ident: $($(#[$doc:meta])* $variant:ident = $text:literal;)+
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// All values.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the name in tables.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        impl crate::table::Value for $name {
            const KIND: crate::table::ColumnType = crate::table::ColumnType::Text;

            fn cell(&self) -> crate::table::Cell<'_> {
                crate::table::Cell::Text(self.name())
            }

            fn from_cell(cell: crate::table::Cell<'_>) -> Option<Self> {
                Self::ALL.iter().find(|value| value.cell() == cell).copied()
            }
        }
    };
}
pub(crate) use names;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_signed_and_none_wraps() {
        for (value, cell) in [
            (0, Cell::Int(0)),
            (i64::MAX as u64, Cell::Int(i64::MAX)),
            (i64::MAX as u64 + 1, Cell::TooLarge(1 << 63)),
            (u64::MAX, Cell::TooLarge(u64::MAX)),
        ] {
            assert_eq!(value.cell(), cell);
        }
        assert_eq!(u64::from_cell(Cell::Int(i64::MAX)), Some(i64::MAX as u64));
        assert_eq!(u64::from_cell(Cell::Int(-1)), None);
        assert_eq!(u16::from_cell(Cell::Int(65_536)), None);
        assert_eq!(u32::from_cell(Cell::Int(4_294_967_295)), Some(u32::MAX));
    }
}
