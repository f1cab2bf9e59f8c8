//! The key of a run: scheme, sweep point and seed.

use std::fmt;

use lowtide_rows::HostRange;
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The values of the swept keys, in sweep order; empty if nothing is swept.
///
/// In JSON it is an object, `{"traffic.short.size": "800 kB"}`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct SweepPoint(pub Vec<(String, String)>);

/// One run of a plan.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunKey {
    /// Number in plan order, from zero; the column `run` of every table.
    pub run: u32,
    /// Name of the scheme.
    pub scheme: String,
    /// The point of the sweep.
    pub point: SweepPoint,
    /// The seed.
    pub seed: u64,
}

impl SweepPoint {
    /// Names of the swept keys.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.as_str())
    }

    /// The value of a swept key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// Whether nothing is swept.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for SweepPoint {
    /// `traffic.short.size = 800 kB, switch.mark.k = 20 pkt`; empty if nothing is swept.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (key, value)) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{key} = {value}")?;
        }
        Ok(())
    }
}

impl fmt::Display for RunKey {
    /// `dctcp, traffic.short.size = 800 kB, seed 3`; hosts by their number, not by their indices.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, ", self.scheme)?;
        for (key, value) in &self.point.0 {
            write!(f, "{key} = {}, ", HostRange::value_text(value))?;
        }
        write!(f, "seed {}", self.seed)
    }
}

impl Serialize for SweepPoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for SweepPoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = SweepPoint;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of swept keys and their values")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SweepPoint, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(SweepPoint(entries))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point() -> SweepPoint {
        SweepPoint(vec![("b.size".into(), "10 kB".into()), ("a".into(), "x".into())])
    }

    #[test]
    fn a_point_keeps_its_order_through_json() {
        let text = serde_json::to_string(&point()).unwrap();
        assert_eq!(text, r#"{"b.size":"10 kB","a":"x"}"#);
        assert_eq!(serde_json::from_str::<SweepPoint>(&text).unwrap(), point());
    }

    #[test]
    fn a_run_key_displays_scheme_point_and_seed() {
        let key = RunKey { run: 0, scheme: "dctcp".into(), point: point(), seed: 3 };
        assert_eq!(key.to_string(), "dctcp, b.size = 10 kB, a = x, seed 3");
        let hosts = SweepPoint(vec![("a.to".into(), "servers[0..10]".into())]);
        let hosts = RunKey { point: hosts, ..key.clone() };
        assert_eq!(hosts.to_string(), "dctcp, a.to = 10 servers, seed 3");
        let bare = RunKey { point: SweepPoint::default(), ..key };
        assert_eq!(bare.to_string(), "dctcp, seed 3");
    }
}
