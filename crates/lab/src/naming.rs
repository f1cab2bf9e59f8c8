//! Names of swept keys and points, in words.

use lowtide_record::SweepPoint;
use lowtide_rows::HostRange;
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

/// Returns a point as `K = 20 pkt, servers = 10`; empty if nothing is swept. Keys with equal
/// symbols keep their paths.
pub fn point_text(point: &SweepPoint) -> String {
    let symbol = |key: &str, value: &str| match (HostRange::read(value), key_title(key)) {
        (Some(hosts), _) => hosts.group.to_owned(),
        (None, Some(title)) => title.symbol.to_owned(),
        (None, None) => key.to_owned(),
    };
    pairs_text(point, &symbol)
}

/// Returns `name = value` of each key; keys with equal names keep their paths.
pub(crate) fn pairs_text(point: &SweepPoint, name: &dyn Fn(&str, &str) -> String) -> String {
    let pair = |(key, value): &(String, String)| {
        let own = name(key, value);
        if point.0.iter().filter(|(k, v)| name(k, v) == own).count() > 1 {
            return format!("{key} = {}", HostRange::value_text(value));
        }
        match HostRange::read(value) {
            Some(hosts) if hosts.group == own => format!("{own} = {}", hosts.count_text()),
            _ => format!("{own} = {}", HostRange::value_text(value)),
        }
    };
    point.0.iter().map(pair).collect::<Vec<_>>().join(", ")
}

/// Returns the title of an axis of a key, and whether it has the unit that all values have.
pub(crate) fn axis_title(key: &str, values: &[&str]) -> (String, bool) {
    let groups = values.iter().map(|value| HostRange::read(value).map(|hosts| hosts.group));
    if let Some(hosts) = groups.reduce(|a, b| if a == b { a } else { None }).flatten() {
        return (format!("Number of {hosts}"), true);
    }
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
        let hosts = point(&[("traffic.q.to", "servers[0..10]"), ("switch.mark.k", "20 pkt")]);
        assert_eq!(point_text(&hosts), "servers = 10, K = 20 pkt");
        assert_eq!(
            shown("traffic.q.to", &["servers[0..1]", "servers[0..40]"]),
            "Number of servers"
        );
        let later = point(&[("traffic.q.to", "servers[5..15]")]);
        assert_eq!(point_text(&later), "servers = 10 from number 5");
        let two = point(&[("traffic.a.to", "servers[0..2]"), ("traffic.b.to", "servers[0..9]")]);
        assert_eq!(point_text(&two), "traffic.a.to = 2 servers, traffic.b.to = 9 servers");
    }
}
