//! A point of a sweep as a cell of a table.

use lowtide_rows::HostRange;

/// Returns the values of a point, with their keys if there are several.
pub(super) fn values(point: &[(String, String)]) -> String {
    match point {
        [] => "–".to_string(),
        [(_, value)] => HostRange::value_text(value),
        many => many
            .iter()
            .map(|(k, v)| format!("{k}={}", HostRange::value_text(v)))
            .collect::<Vec<_>>()
            .join(" "),
    }
}
