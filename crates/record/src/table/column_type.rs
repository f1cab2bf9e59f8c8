//! The Arrow types of Rust types in tables.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, StringArray, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::DataType;

/// A type of column values. `Option` of it is a column with nulls.
pub trait Cell: Sized {
    /// The Arrow type.
    const TYPE: DataType;
    /// Whether the value may be absent.
    const NULLABLE: bool;
    /// Converts `values` to a column.
    fn write<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef
    where
        Self: 'a;
    /// The values of a column; `None` if it has another type, or a null in a column without nulls.
    fn read(column: &dyn Array) -> Option<Vec<Self>>;
}

macro_rules! cells {
    ($($rust:ty, $array:ty, $arrow:ident, $borrow:expr, $own:expr;)*) => {$(
        impl Cell for $rust {
            const TYPE: DataType = DataType::$arrow;
            const NULLABLE: bool = false;
            fn write<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
                Arc::new(<$array>::from_iter(values.map(|v| Some($borrow(v)))))
            }
            fn read(column: &dyn Array) -> Option<Vec<Self>> {
                column.as_any().downcast_ref::<$array>()?.iter().map(|v| v.map($own)).collect()
            }
        }
        impl Cell for Option<$rust> {
            const TYPE: DataType = DataType::$arrow;
            const NULLABLE: bool = true;
            fn write<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
                Arc::new(<$array>::from_iter(values.map(|v| v.as_ref().map($borrow))))
            }
            fn read(column: &dyn Array) -> Option<Vec<Self>> {
                let array = column.as_any().downcast_ref::<$array>()?;
                Some(array.iter().map(|v| v.map($own)).collect())
            }
        }
    )*};
}

cells! {
    u16, UInt16Array, UInt16, |v: &u16| *v, |v: u16| v;
    u32, UInt32Array, UInt32, |v: &u32| *v, |v: u32| v;
    u64, UInt64Array, UInt64, |v: &u64| *v, |v: u64| v;
    f64, Float64Array, Float64, |v: &f64| *v, |v: f64| v;
    bool, BooleanArray, Boolean, |v: &bool| *v, |v: bool| v;
    String, StringArray, Utf8, String::as_str, str::to_owned;
}
