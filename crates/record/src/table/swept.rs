//! The columns of the swept keys: the text of each value, and beside it the number.
//!
//! The unit of a number depends on all values of the plan, so tables of single runs have texts
//! only, and merging adds the numbers.

use lowtide_rows::{ColumnType, SweptUnit};

use super::field::Field;
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
            let text = Field::new(key, ColumnType::Text, false, "", "Value of the swept key.");
            [Some(text), unit.map(|unit| number_field(key, unit))].into_iter().flatten()
        })
    }

    /// The key and the unit of a column of numbers.
    pub(super) fn number(&self, field: &Field) -> Option<(&str, SweptUnit)> {
        let of = field.metadata.key.as_ref()?;
        self.0.iter().find_map(|(key, unit)| Some((key.as_str(), (*unit)?)).filter(|_| key == of))
    }
}

fn number_field(key: &str, unit: SweptUnit) -> Field {
    let name = format!("{key}_{}", unit.suffix());
    let description = "Value of the swept key as a number; null for a word.";
    let mut field = Field::new(&name, unit.kind(), true, unit.name(), description);
    field.metadata.key = Some(key.to_owned());
    field
}
