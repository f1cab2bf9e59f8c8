//! Markers (AQM): decisions on admitted packets. One file per marker, found by name.
//!
//! A marker sees the queue of the packet, as the port counts it, the packet's size and ECN
//! codepoint, and its queueing delay. It does not see memory or the order of service. It decides on
//! arrival or at the start of transmission.

mod api;
mod entry;
mod mark_spec;
mod marker;
pub mod params;
mod threshold;
// lowtide:registry begin (kept by `cargo xtask registry`)
pub mod codel;
pub mod droptail;
pub mod phantom;
pub mod pi;
pub mod pie;
pub mod red;
pub mod step;
pub mod step_dequeue;
pub mod step_ns2;
// lowtide:registry end

pub use api::{
    Aqm, AqmVerdict, CongestionSignal, DequeueInfo, EnqueueInfo, IGNORES_ARRIVALS, NotEct,
};
pub use entry::{
    Configure, DecisionPoint, MarkerConfig, MarkerEntry, MarkerSetup, SignalCondition,
};
pub use mark_spec::MarkSpec;
pub use marker::Marker;
pub use threshold::Threshold;

use lowtide_schema::Registry;

/// Every marker, by name.
pub static REGISTRY: Registry<MarkerEntry> = Registry::new(BUILT_IN);

/// The markers of this crate.
// lowtide:registry list (kept by `cargo xtask registry`)
static BUILT_IN: &[&MarkerEntry] = &[
    &codel::ENTRY,
    &droptail::ENTRY,
    &phantom::ENTRY,
    &pi::ENTRY,
    &pie::ENTRY,
    &red::ENTRY,
    &step::ENTRY,
    &step_dequeue::ENTRY,
    &step_ns2::ENTRY,
];
// lowtide:registry list end

#[cfg(test)]
mod tests {
    use lowtide_schema::{DefaultValue, Values};
    use lowtide_sim::Seed;
    use lowtide_units::{Bytes, Duration, Instant, QueueLength, Rate};
    use lowtide_wire::Ecn;

    use super::*;
    use crate::{Framing, Occupancy};

    #[test]
    fn declarations_are_complete() {
        for entry in REGISTRY.all() {
            assert!(!entry.summary.is_empty() && !entry.spec.is_empty(), "{}", entry.name);
            for param in entry.params {
                let what = format!("{}.{}", entry.name, param.name);
                assert!(param.doc.ends_with('.') && !param.source.is_empty(), "{what}");
                if let DefaultValue::Is(text) = param.default {
                    let value = param.kind.parse(text).map(|value| value.to_string());
                    assert_eq!(value.as_deref(), Ok(text), "{what}");
                }
            }
        }
    }

    #[test]
    fn a_marker_has_its_values_and_equals_itself_only() {
        let k = QueueLength::Packets(20);
        let step = MarkSpec::step(k);
        assert_eq!(step, MarkSpec::new("step", &[("k", "20 pkt")]).unwrap());
        assert_ne!(step, MarkSpec::new("step-dequeue", &[("k", "20 pkt")]).unwrap());
        assert_ne!(step, MarkSpec::step(QueueLength::Bytes(Bytes::new(20))));
        assert_eq!((step.name(), step.sets_ce()), ("step", Some("step")));
        assert_eq!(step.values().length("k"), k);
        assert_eq!(format!("{step:?}"), "step { k: 20 pkt, not-ect: ignore }");
        let none = MarkSpec::new("droptail", &[]).unwrap();
        assert_eq!((&none, none.sets_ce()), (&MarkSpec::NONE, None));
        assert_eq!(size_of::<MarkSpec>(), 8);
    }

    #[test]
    fn unknown_and_missing_names_are_errors() {
        for (name, params, part) in [
            ("blue", &[][..], "there is no marker `blue`; the markers are codel, droptail"),
            ("step", &[], "`k` is required"),
            ("step", &[("k", "20 pkt"), ("gamma", "95 %")], "no parameter `gamma`"),
            ("red", &[("min", "5 pkt"), ("max", "9 pkt"), ("weight", "25")], "0 to 24"),
        ] {
            let error = MarkSpec::new(name, params).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn dropped_packets_need_no_codepoint() {
        let drop = MarkSpec::new("codel", &[("signal", "drop")]).unwrap();
        assert_eq!((drop.sets_ce(), drop.values().get("not-ect")), (None, None));
        let mark = MarkSpec::new("codel", &[]).unwrap();
        assert_eq!((mark.sets_ce(), mark.values().name("not-ect")), (Some("codel"), "ignore"));
        let both = MarkSpec::new("codel", &[("signal", "drop"), ("not-ect", "drop")]);
        assert_eq!(both.unwrap_err().param, Some("not-ect"));
    }

    #[test]
    fn values_survive_a_second_reading() {
        for (name, params) in [
            ("red", &[("min", "5 kB"), ("max", "15 kB"), ("gentle", "true")][..]),
            ("pie", &[("beta", "1/3"), ("signal", "drop")]),
            ("phantom", &[("k", "3 kB")]),
        ] {
            let spec = MarkSpec::new(name, params).unwrap();
            let texts: Vec<_> = spec.values().iter().map(|(n, v)| (n, v.to_string())).collect();
            let texts: Vec<_> = texts.iter().map(|(n, v)| (*n, v.as_str())).collect();
            assert_eq!(MarkSpec::new(name, &texts).unwrap(), spec);
            let complete =
                Values::complete(spec.entry().params, |p| spec.values().get(p.name).cloned());
            assert_eq!(complete.as_ref(), Ok(spec.values()));
        }
    }

    /// Runs of such markers share a simulation if no packet is ECN-capable.
    #[test]
    fn markers_forward_packets_without_ect_as_declared() {
        let (signals, not_ects) = (["mark", "drop"], ["ignore", "drop"]);
        let (mut forwarding, mut others) = (Vec::new(), Vec::new());
        for (name, params) in [
            ("codel", &[("target", "1 us"), ("interval", "10 us")][..]),
            ("droptail", &[]),
            ("phantom", &[("k", "1 B"), ("gamma", "1 %")]),
            ("pi", &[("q-ref", "1"), ("period", "1 us"), ("a", "90 %"), ("b", "10 %")]),
            ("pie", &[("target", "1 us"), ("period", "1 us"), ("alpha", "10"), ("burst", "0 us")]),
            ("red", &[("min", "1 pkt"), ("max", "2 pkt"), ("weight", "0")]),
            ("step", &[("k", "1 pkt")]),
            ("step-dequeue", &[("k", "1 pkt")]),
            ("step-ns2", &[("k", "1 pkt")]),
        ] {
            for signal in signals {
                for not_ect in not_ects {
                    let all = [("signal", signal), ("not-ect", not_ect)];
                    let has = |key: &str| {
                        REGISTRY.find(name).is_some_and(|m| m.params.iter().any(|p| p.name == key))
                    };
                    let own = all.into_iter().filter(|(key, _)| has(key));
                    let own = own.filter(|(key, _)| *key != "not-ect" || signal == "mark");
                    let params: Vec<_> = params.iter().copied().chain(own).collect();
                    let spec = MarkSpec::new(name, &params).unwrap();
                    let acted = acts_on_not_ect(&spec);
                    if spec.config().forwards_not_ect() {
                        assert!(!acted, "{spec:?}");
                        forwarding.push(name);
                    } else if acted {
                        others.push(name);
                    }
                }
            }
        }
        forwarding.dedup();
        others.dedup();
        let steps = ["step", "step-dequeue", "step-ns2"];
        assert_eq!(forwarding, [&["codel", "phantom", "pi", "red"][..], &steps].concat());
        assert_eq!(others, [&["codel", "phantom", "pi", "pie", "red"][..], &steps].concat());
        let names: Vec<_> = REGISTRY.names().into_iter().filter(|n| *n != "droptail").collect();
        assert_eq!(others, names, "every marker was tried");
    }

    /// Returns whether a marker does anything but forward in a long queue of packets without ECT.
    fn acts_on_not_ect(spec: &MarkSpec) -> bool {
        let setup = MarkerSetup::new(Rate::from_gbps(1), Framing::Ethernet, Seed(1));
        let mut marker = spec.config().start(&setup);
        (1..2_000).any(|i| {
            let now = Instant::ZERO + Duration::from_us(12 * i);
            let backlog = Occupancy { packets: 50, bytes: 75_000 };
            let (size, ecn) = (1_500, Ecn::NotEct);
            marker.advance(now, backlog);
            let arrives = EnqueueInfo { backlog, size, ecn, tx_start: now, idle_since: now };
            let leaves = DequeueInfo { backlog, sojourn: Duration::from_us(600), size, ecn };
            marker.on_enqueue(now, &arrives) != AqmVerdict::Forward
                || marker.on_dequeue(now, &leaves) != AqmVerdict::Forward
        })
    }
}
