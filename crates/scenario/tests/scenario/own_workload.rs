//! A workload of another crate: its keys, their defaults and their errors follow from its entry.

use std::sync::Once;

use crate::common::{BASE, errors};
use lowtide_scenario::{Scenario, json_schema};
use lowtide_schema::DefaultValue::{Is, Required, Unset};
use lowtide_schema::{Param, ValueKind};
use lowtide_traffic::workload::{
    self, Arrivals, HostSelection, Traffic, WorkloadArgs, WorkloadContext, WorkloadEntry,
    WorkloadError,
};
use lowtide_traffic::{Flow, WritePattern};
use lowtide_units::{Duration, Instant};

const fn param(
    name: &'static str,
    kind: ValueKind,
    default: lowtide_schema::DefaultValue,
) -> Param {
    Param { name, kind, default, doc: "A test.", source: "lowtide" }
}

/// One transfer, with a parameter of each kind that the workloads of this project do not have.
static ENTRY: WorkloadEntry = WorkloadEntry {
    name: "single-file",
    summary: "one transfer",
    spec: "lowtide",
    host_selection: HostSelection::FromTo,
    arrivals: Arrivals::Stated,
    params: &[
        param("block", ValueKind::Bytes { min: 512, max: 4_096 }, Required),
        param("urgent", ValueKind::Bool, Is("false")),
        param(
            "level",
            ValueKind::Name { allowed: || vec!["low", "high"], refused: &[] },
            Is("low"),
        ),
        param(
            "weight",
            ValueKind::NameOrCount { allowed: || vec!["equal"], min: 1, max: 9 },
            Is("equal"),
        ),
        param("part", ValueKind::Ratio, Is("1/2")),
        param("backlog", ValueKind::Length, Is("20 pkt")),
        param(
            "lead",
            ValueKind::Duration { min: Duration::from_us(1), max: Duration::from_us(9) },
            Unset("none"),
        ),
    ],
    traffic,
};

fn traffic(args: &WorkloadArgs, _: &WorkloadContext) -> Result<Traffic, WorkloadError> {
    let source = args.sources.first();
    let nobody = || WorkloadError::at("from", "no source", "name a host in `from`");
    let flow = Flow {
        group: args.group,
        src: *source.ok_or_else(nobody)?,
        dst: args.destinations[0],
        size: Some(args.values.bytes("block")),
        start: Instant::ZERO + args.values.find_duration("lead").unwrap_or_default(),
        write_pattern: WritePattern::Bulk,
    };
    Ok(Traffic { flows: vec![flow], ..Traffic::default() })
}

/// Returns the base with one group of this workload that has these keys.
fn scenario(keys: &str) -> String {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| workload::REGISTRY.register(&ENTRY).expect("a new name"));
    let traffic = BASE.find("[traffic.long]").expect("the base has it");
    let group = "[traffic.mine]\nkind = \"single-file\"\nfrom = \"senders\"\nto = \"receivers\"\n";
    format!("{}{group}{keys}\n", &BASE[..traffic])
}

#[test]
fn a_run_has_its_traffic_and_all_its_keys() {
    let plan = Scenario::parse(&scenario("block = \"1024 B\"\nweight = 3"), "t.toml")
        .and_then(|s| s.expand())
        .unwrap_or_else(|e| panic!("{e}"));
    let text = plan.runs[0].resolved_toml();
    let keys = "block = \"1024 B\"\nurgent = false\nlevel = \"low\"\nweight = 3\npart = \"1/2\"\n\
                backlog = \"20 pkt\"\n";
    assert!(text.contains(keys), "{text}");
    assert!(!text.contains("lead = "), "{text}");
    let again = Scenario::parse(&text, "t.toml").and_then(|s| s.expand());
    let again = again.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again.runs[0].resolved_toml(), text);
}

#[test]
fn its_values_are_checked_at_their_keys() {
    for (keys, meant, part) in [
        ("", "mine", "`block` is missing"),
        ("block = \"1 B\"", "\"1 B\"", "expected a size, 512 B to 4096 B"),
        ("block = \"1 kB\"\nlead = \"10 us\"", "\"10 us\"", "a time, 1 us to 9 us"),
        ("block = \"1 kB\"\nlevel = \"mid\"", "\"mid\"", "expected one of low, high"),
        ("block = \"1 kB\"\nweight = 10", "10", "a whole number, 1 to 9"),
        ("block = \"1 kB\"\nurgent = 3", "3", "neither `true` nor `false`"),
        ("blok = \"1 kB\"", "blok", "did you mean `block`"),
    ] {
        let found = errors(&scenario(keys));
        let error = found.iter().find(|error| {
            error.to_string().contains(part)
                && error.span.clone().is_some_and(|span| &error.text[span] == meant)
        });
        assert!(error.is_some(), "{keys}: no error with {part:?} at {meant:?} in\n{found}");
    }
}

#[test]
fn its_name_is_suggested_and_in_the_schema() {
    let text = scenario("block = \"1 kB\"");
    let found = errors(&text.replace("\"single-file\"", "\"singlefile\""));
    assert!(found.to_string().contains("did you mean `single-file`"), "{found}");
    let schema = json_schema();
    let group = &schema["properties"]["traffic"]["patternProperties"]["^[A-Za-z][A-Za-z0-9_-]*$"];
    let names = group["properties"]["kind"]["enum"].as_array().expect("names");
    assert!(names.iter().any(|name| name == "single-file"), "{names:?}");
    assert_eq!(group["properties"]["level"]["enum"][1], "high");
    assert_eq!(group["properties"]["weight"]["anyOf"][1]["maximum"], 9);
}
