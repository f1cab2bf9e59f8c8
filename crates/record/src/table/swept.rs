//! The columns of the swept keys: the text of each value, and beside it the number.
//!
//! The unit of a number depends on all values of the plan, so tables of single runs have texts
//! only, and merging adds the numbers.

use arrow_schema::{DataType, Field};
use lowtide_rows::SweptUnit;

use super::column::data_type;
use super::field;
use super::metadata::KEY;
use crate::key::SweepPoint;

/// The swept keys of a table, each with the unit of its column of numbers, if it has one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct SweptKeys(Vec<(String, Option<SweptUnit>)>);

impl SweptKeys {
    /// The keys of one run, without numbers.
    pub(crate) fn texts(point: &SweepPoint) -> Self {
        Self(point.keys().map(|key| (key.to_owned(), None)).collect())
    }

    /// The keys of a plan with these points, with numbers.
    pub(crate) fn of(points: &[&SweepPoint]) -> Self {
        let Some(first) = points.first() else { return Self::default() };
        let unit = |key: &str| SweptUnit::of(points.iter().filter_map(|point| point.get(key)));
        Self(first.keys().map(|key| (key.to_owned(), unit(key))).collect())
    }

    /// The fields of the keys, in order.
    pub(super) fn fields(&self) -> impl Iterator<Item = Field> {
        self.0.iter().flat_map(|(key, unit)| {
            let text = field(key, DataType::Utf8, false, "", "Value of the swept key.");
            [Some(text), unit.map(|unit| number_field(key, unit))].into_iter().flatten()
        })
    }

    /// The key and the unit of a column of numbers.
    pub(super) fn number(&self, field: &Field) -> Option<(&str, SweptUnit)> {
        let of = field.metadata().get(KEY)?;
        self.0.iter().find_map(|(key, unit)| Some((key.as_str(), (*unit)?)).filter(|_| key == of))
    }
}

/// Whether a column has the numbers of a swept key.
pub(crate) fn is_number(field: &Field) -> bool {
    field.metadata().contains_key(KEY)
}

fn number_field(key: &str, unit: SweptUnit) -> Field {
    let name = format!("{key}_{}", unit.suffix());
    let description = "Value of the swept key as a number; null for a word.";
    let mut field = field(&name, data_type(unit.kind()), true, unit.name(), description);
    let mut metadata = field.metadata().clone();
    metadata.insert(KEY.to_owned(), key.to_owned());
    field.set_metadata(metadata);
    field
}
