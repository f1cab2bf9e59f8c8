//! A column of a file: its type, and the description that the metadata of the file has.

use lowtide_rows::{Column, ColumnType};
use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::schema::types::{ColumnDescriptor, Type, TypePtr};
use serde::{Deserialize, Serialize};

use super::column::{ColumnBuilder, ColumnCells};

/// A column in the list `lowtide.columns`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ColumnMetadata {
    /// Its name.
    pub name: String,
    /// Its unit; empty for names and counts.
    pub unit: String,
    /// Its description.
    pub description: String,
    /// The swept key whose numbers it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// A column of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name and meaning.
    pub metadata: ColumnMetadata,
    /// The type of its values.
    pub kind: ColumnType,
    /// Whether it may have nulls.
    pub nullable: bool,
}

impl Field {
    pub(crate) fn declared(column: &Column) -> Self {
        let Column { name, unit, description, kind, nullable } = *column;
        Self::new(name, kind, nullable, unit, description)
    }

    pub(crate) fn new(
        name: &str,
        kind: ColumnType,
        nullable: bool,
        unit: &str,
        description: &str,
    ) -> Self {
        let [name, unit, description] = [name, unit, description].map(str::to_owned);
        Self { metadata: ColumnMetadata { name, unit, description, key: None }, kind, nullable }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// Whether it has the numbers of a swept key.
    pub(crate) fn is_number(&self) -> bool {
        self.metadata.key.is_some()
    }

    /// A column of this type without cells.
    pub(crate) fn empty(&self) -> ColumnCells {
        ColumnCells::new(self.kind, self.nullable)
    }

    /// A column of this type that grows.
    pub(crate) fn builder(&self) -> ColumnBuilder {
        ColumnBuilder::new(self.kind, self.nullable)
    }

    /// The column in the schema of a file.
    pub(crate) fn parquet(&self) -> Result<TypePtr, ParquetError> {
        let (physical, logical) = match self.kind {
            ColumnType::Int => (PhysicalType::INT64, None),
            ColumnType::F64 => (PhysicalType::DOUBLE, None),
            ColumnType::Bool => (PhysicalType::BOOLEAN, None),
            ColumnType::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let repetition = if self.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let field = Type::primitive_type_builder(self.name(), physical);
        Ok(field.with_repetition(repetition).with_logical_type(logical).build()?.into())
    }

    /// The column of a file, without its description; `None` if tables have no such column.
    pub(crate) fn of_parquet(column: &ColumnDescriptor) -> Option<Self> {
        let kind = match column.physical_type() {
            PhysicalType::INT64 => ColumnType::Int,
            PhysicalType::DOUBLE => ColumnType::F64,
            PhysicalType::BOOLEAN => ColumnType::Bool,
            PhysicalType::BYTE_ARRAY => ColumnType::Text,
            _ => return None,
        };
        let flat = column.path().parts().len() == 1 && column.max_rep_level() == 0;
        flat.then(|| Self::new(column.name(), kind, column.max_def_level() > 0, "", ""))
    }
}
