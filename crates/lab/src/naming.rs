//! Names of swept keys and points, in words.

use lowtide_record::SweepPoint;
use lowtide_scenario::key_title;

/// Returns the title of a key, with the group of a traffic key; its path if it has no title.
pub(crate) fn title(key: &str) -> String {
    match (key_title(key), group(key)) {
        (Some(found), Some(group)) => format!("{}, {group}", found.title),
        (Some(found), None) => found.title.to_owned(),
        (None, _) => key.to_owned(),
    }
}

/// Returns the traffic group that a key belongs to.
fn group(key: &str) -> Option<&str> {
    let (group, _) = key.strip_prefix("traffic.")?.split_once('.')?;
    Some(group)
}

/// Returns a point as `K = 20 pkt, size = 10 kB`; empty if nothing is swept. Keys with equal
/// symbols keep their paths.
pub fn point_text(point: &SweepPoint) -> String {
    let symbol = |key: &str| key_title(key).map_or_else(|| key.to_owned(), |t| t.symbol.to_owned());
    let pair = |(key, value): &(String, String)| {
        let unique = point.keys().filter(|k| symbol(k) == symbol(key)).count() == 1;
        let name = if unique { symbol(key) } else { key.clone() };
        format!("{name} = {value}")
    };
    point.0.iter().map(pair).collect::<Vec<_>>().join(", ")
}

/// Returns the title of an axis of a key, and whether it has the unit that all values have.
pub(crate) fn axis_title(key: &str, values: &[&str]) -> (String, bool) {
    let unit = |value: &&str| value.split_once(' ').map_or("", |(_, unit)| unit).to_owned();
    let first = values.first().map(unit).unwrap_or_default();
    if first.is_empty() || values.iter().any(|v| unit(v) != first) {
        return (title(key), false);
    }
    let unit = if first == "pkt" { "packets" } else { &first };
    (format!("{} ({unit})", title(key)), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_points_are_words() {
        let shown = |key: &str, values: &[&str]| axis_title(key, values).0;
        let k = shown("switch.mark.k", &["20 pkt", "65 pkt"]);
        assert_eq!(k, "Marking threshold K (packets)");
        assert_eq!(shown("traffic.short.size", &["10 kB", "1 MB"]), "Flow size, short");
        assert_eq!(shown("switch.unknown", &["1"]), "switch.unknown");
        let point = |pairs: &[(&str, &str)]| {
            SweepPoint(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
        };
        let two = point(&[("switch.mark.k", "20 pkt"), ("traffic.a.size", "1 kB")]);
        assert_eq!(point_text(&two), "K = 20 pkt, size = 1 kB");
        let same = point(&[("traffic.a.size", "1 kB"), ("traffic.b.size", "2 kB")]);
        assert_eq!(point_text(&same), "traffic.a.size = 1 kB, traffic.b.size = 2 kB");
    }
}
