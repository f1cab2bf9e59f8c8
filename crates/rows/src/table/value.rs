//! Types of values in tables.

use std::sync::Arc;

use crate::shared_text::SharedText;

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnType {
    /// `u16`.
    U16,
    /// `u32`.
    U32,
    /// `u64`.
    U64,
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
    /// `u16`.
    U16(u16),
    /// `u32`.
    U32(u32),
    /// `u64`.
    U64(u64),
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
            Self::U16(value) => Some(f64::from(value)),
            Self::U32(value) => Some(f64::from(value)),
            Self::U64(value) => Some(value as f64),
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

macro_rules! numbers {
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

numbers! {
    u16, U16;
    u32, U32;
    u64, U64;
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
