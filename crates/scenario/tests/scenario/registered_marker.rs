//! A marker of another crate works as the markers of this project do.

use std::sync::Once;

use lowtide_host::run;
use lowtide_net::aqm::{
    self, Aqm, AqmVerdict, EnqueueInfo, Marker, MarkerConfig, MarkerEntry, MarkerSetup, NotEct,
    SignalCondition, params,
};
use lowtide_net::{MarkSpec, Occupancy, QueueLength};
use lowtide_scenario::{Scenario, json_schema};
use lowtide_schema::DefaultValue::{Is, Required};
use lowtide_schema::{Param, ParamError, ValueKind, Values};
use lowtide_units::Instant;

use crate::common::{BASE, assert_one_error};

/// Marks every n-th of the packets that find more than `found`.
static EVERY_NTH: MarkerEntry = MarkerEntry {
    name: "every-nth",
    summary: "mark every n-th packet that finds a queue",
    spec: "a test",
    params: &[
        Param {
            name: "nth",
            kind: ValueKind::Count { min: 1, max: 1_000 },
            default: Required,
            doc: "Packets per mark.",
            source: "a test",
        },
        Param {
            name: "found",
            kind: ValueKind::Length,
            default: Is("0 pkt"),
            doc: "Queue length above which packets are counted.",
            source: "a test",
        },
        params::NOT_ECT,
    ],
    configure,
};

/// A name that is taken.
static SECOND_STEP: MarkerEntry = MarkerEntry { name: "step", ..EVERY_NTH };

#[derive(Clone, Copy, Debug)]
struct EveryNth {
    nth: u64,
    /// In packets.
    found: u64,
    not_ect: NotEct,
    seen: u64,
}

fn configure(values: &mut Values) -> Result<Box<dyn MarkerConfig>, ParamError> {
    let QueueLength::Packets(found) = values.length("found") else {
        let message = "`found` counts packets";
        return Err(ParamError::new("found", message, "write `found = \"5 pkt\"`"));
    };
    let (nth, not_ect) = (values.count("nth"), params::not_ect(values));
    Ok(Box::new(EveryNth { nth, found, not_ect, seen: 0 }))
}

impl MarkerConfig for EveryNth {
    fn start(&self, _: &MarkerSetup) -> Marker {
        Marker::new(*self)
    }

    fn sets_ce(&self) -> bool {
        true
    }

    fn signal_condition(&self) -> SignalCondition {
        SignalCondition::FoundQueue { param: "found", length: QueueLength::Packets(self.found) }
    }
}

impl Aqm for EveryNth {
    fn on_enqueue(&mut self, _: Instant, packet: &EnqueueInfo) -> AqmVerdict {
        let Occupancy { packets, .. } = packet.backlog;
        if u64::from(packets) <= self.found {
            return AqmVerdict::Forward;
        }
        self.seen += 1;
        if self.seen.is_multiple_of(self.nth) {
            self.not_ect.verdict(packet.ecn)
        } else {
            AqmVerdict::Forward
        }
    }
}

const STEP: &str = "kind = \"step\"\nk = \"20 pkt\"";

/// Returns the base with this marker, registered once.
fn with(lines: &str) -> String {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| aqm::REGISTRY.register(&EVERY_NTH).expect("a new name"));
    let text = BASE.replace("\"40 MB\"", "\"4 MB\"");
    text.replace(STEP, &format!("kind = \"every-nth\"\n{lines}"))
}

fn plan(text: &str) -> lowtide_scenario::RunPlan {
    let scenario = Scenario::parse(text, "t.toml").unwrap_or_else(|e| panic!("{e}"));
    let scenario = scenario.with_override("transport.scheme", "dctcp").expect("it is known");
    scenario.expand().unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn it_runs_and_its_marks_are_counted() {
    let spec = &plan(&with("nth = 10")).runs[0];
    let setup = spec.setup().unwrap();
    let mark = &setup.network.links[3].from_b.port.mark;
    assert_eq!((mark.name(), mark.sets_ce()), ("every-nth", Some("every-nth")));
    let outcome = run(&setup, &mut |_| false).unwrap();
    let queue = outcome.queues.iter().find(|q| q.name == "switch0->receivers.0").unwrap();
    let found: u64 = queue.levels.iter().filter(|l| l.packets > 0).map(|l| l.arrivals).sum();
    assert!(queue.served.marks > 100, "{}", queue.served.marks);
    assert_eq!(queue.served.marks, found / 10, "every tenth packet that found a queue");
    let resolved = spec.resolved_toml();
    let lines = "kind = \"every-nth\"\nnth = 10\nfound = \"0 pkt\"\nnot-ect = \"ignore\"\n";
    assert!(resolved.contains(lines), "{resolved}");
    let again = Scenario::parse(&resolved, "t.toml").unwrap().expand().unwrap();
    assert_eq!(again.runs[0].setup().unwrap(), setup, "written out and read back");
}

#[test]
fn its_errors_are_those_of_any_marker() {
    let mark = |lines: &str, meant: &str, parts: &[&str]| {
        let _ = with("");
        assert_one_error(STEP, lines, meant, parts);
    };
    let own = |lines: &str| format!("kind = \"every-nth\"\n{lines}");
    let unknown = "kind = \"every-nht\"\nnth = 9\nk = \"9 pkt\"";
    mark(unknown, "\"every-nht\"", &["is unknown", "`every-nth`"]);
    mark(&own(""), "\"every-nth\"", &["needs its `nth`", "Packets per mark."]);
    mark(&own("nth = 0"), "0", &["1 to 1000"]);
    mark(&own("nth = 9\nfound = \"9 kB\""), "\"9 kB\"", &["counts packets", "5 pkt"]);
    mark(&own("nth = 9\nbeta = 2"), "2", &["`beta` belongs to `pie`"]);
    mark(&own("nth = 9\nk = \"9 pkt\""), "\"9 pkt\"", &["`k` has no effect on `every-nth`"]);
    mark(
        &own("nth = 9\nfound = \"99 pkt\""),
        "\"99 pkt\"",
        &["`found` = 99 pkt is never exceeded", "the largest `found` that can mark is 98 pkt"],
    );
    mark(&format!("{STEP}\nnth = 9"), "9", &["`nth` belongs to `every-nth`"]);
}

#[test]
fn its_keys_are_known_to_the_schema_and_to_overrides() {
    let text = with("nth = 10");
    let schema = json_schema();
    let keys = &schema["properties"]["switch"]["properties"]["mark"]["properties"];
    assert_eq!(keys["nth"]["description"], "Packets per mark.");
    let plan = Scenario::parse(&text, "t.toml")
        .and_then(|s| s.with_override("switch.mark.nth", "7")?.expand())
        .unwrap();
    let setup = plan.runs[0].setup().unwrap();
    let want = MarkSpec::new("every-nth", &[("nth", "7")]).unwrap();
    assert_eq!(setup.network.links[3].from_b.port.mark, want);
}

#[test]
fn a_second_registration_is_an_error_that_names_both_places() {
    let _ = with("");
    let error = aqm::REGISTRY.register(&EVERY_NTH).unwrap_err().to_string();
    let here = error.matches("registered_marker.rs:").count();
    assert!(error.contains("the marker `every-nth` is registered twice") && here == 2, "{error}");
    let error = aqm::REGISTRY.register(&SECOND_STEP).unwrap_err().to_string();
    assert!(error.contains("crates/net/src/aqm/mod.rs:"), "{error}");
}
