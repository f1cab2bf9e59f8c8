//! A scheme, a profile and a host profile of another crate are equal to built-in ones in scenario
//! files. The registries are state of the process, so this is a separate binary with one test.

use lowtide_host::NicSpec;
use lowtide_host::clock::ClockSpec;
use lowtide_host::profile::{self as host_profile, HostProfile};
use lowtide_rows::FlowStatus;
use lowtide_scenario::{Scenario, json_schema};
use lowtide_tcp::cc::{self, CcEntry};
use lowtide_tcp::profile::{self, Profile, set};
use lowtide_tcp::scheme::{self, Scheme};
use lowtide_tcp::{DefaultValue, InitialWindow, Param, ValueKind, switches};
use lowtide_units::Duration;

/// CUBIC with classic ECN.
static SCHEME: Scheme = Scheme {
    name: "cubic-ecn",
    summary: "for this test",
    settings: &[
        set("cc", "cubic", "RFC 9438"),
        set("ecn", "rfc3168", "RFC 3168"),
        set("cubic.fast-convergence", "false", "this test"),
    ],
};

static PROFILE: Profile = Profile {
    name: "small-windows",
    summary: "for this test",
    settings: &[set("initial-window", "2", "this test")],
};

static HOST: HostProfile = HostProfile {
    name: "slow-interrupts",
    summary: "for this test",
    nic: NicSpec { moderation: Duration::from_us(50), ..NicSpec::IDEAL },
    clock: ClockSpec::IDEAL,
    transport: &[set("tso-segments", "4", "this test")],
    sources: &[set("moderation", "50 us", "this test")],
    omits: "everything else",
};

/// A scheme that sets a switch that does not exist.
static WRONG: Scheme = Scheme {
    name: "wrong",
    summary: "for this test",
    settings: &[set("window-flor", "1", "this test")],
};

/// A control with a parameter that users must set.
static NEEDY: CcEntry = CcEntry {
    name: "needy",
    summary: "for this test",
    spec: "none",
    params: &[Param {
        name: "goal",
        kind: ValueKind::Count { min: 1, max: 9 },
        default: DefaultValue::Required,
        doc: "Segments.",
        source: "this test",
    }],
    ..cc::newreno::ENTRY
};

const FILE: &str = r#"schema = 1
title = "A test"
[run]
duration = "1 s"
[topology]
kind = "star"
link-rate = "1 Gbit/s"
link-delay = "10 us"
[switch]
buffer = "100 pkt"
[switch.mark]
kind = "step"
k = "20 pkt"
[transport]
profile = "small-windows"
[hosts.senders]
count = 2
host-profile = "slow-interrupts"
[hosts.receivers]
count = 1
[traffic.short]
from = "senders"
to = "receivers"
count = 2
size = "1 MB"
[compare]
schemes = ["cubic-ecn", "sack"]
"#;

fn error(text: &str) -> String {
    let expanded = Scenario::parse(text, "t.toml").and_then(|scenario| scenario.expand());
    expanded.expect_err("a wrong file").to_string()
}

#[test]
fn parts_of_another_crate_run_in_a_scenario() {
    assert!(error(FILE).contains("`small-windows`"), "{}", error(FILE));

    scheme::REGISTRY.register(&SCHEME).expect("a new name");
    let first = line!() - 1;
    scheme::REGISTRY.register(&WRONG).expect("a new name");
    cc::REGISTRY.register(&NEEDY).expect("a new name");
    profile::REGISTRY.register(&PROFILE).expect("a new name");
    host_profile::REGISTRY.register(&HOST).expect("a new name");

    let plan = Scenario::parse(FILE, "t.toml").expect("a right file").expand().expect("its runs");
    let run = &plan.runs[0];
    assert_eq!(run.scheme, "cubic-ecn");
    let setup = run.setup().expect("a right setup");
    let sender = &setup.hosts[0];
    assert_eq!((sender.config.cc, sender.config.tso_segments), ("cubic", 4));
    assert_eq!(sender.config.initial_window, InitialWindow::Segments(2));
    assert_eq!(sender.nic, HOST.nic);
    let parameter = switches::get_text(&sender.config, "cubic.fast-convergence");
    assert_eq!(parameter.as_deref(), Ok("false"));

    let again = Scenario::parse(&run.resolved_toml(), "again.toml").expect("a right file");
    assert_eq!(again.expand().expect("one run").runs[0].hash, run.hash);

    let outcome = lowtide_host::run(&setup, &mut |_| false).expect("a run to its end");
    assert_eq!(outcome.flows.len(), 2);
    for flow in &outcome.flows {
        assert_eq!((flow.status, flow.delivered_bytes), (FlowStatus::Complete, 1_000_000));
        assert_eq!(flow.cc_used, "cubic");
    }

    // Mistyped names get them as help, and errors of the parts name them.
    for (name, mistyped) in [
        ("cubic-ecn", "cubic-ec"),
        ("small-windows", "smal-windows"),
        ("slow-interrupts", "slow-interrupt"),
    ] {
        let found = error(&FILE.replace(name, mistyped));
        assert!(found.contains(&format!("did you mean `{name}`?")), "{found}");
    }
    let found = error(&FILE.replace("\"cubic-ecn\", ", "\"wrong\", "));
    assert!(found.contains("scheme `wrong`: there is no switch `window-flor`"), "{found}");
    let needy =
        |keys: &str| FILE.replace("\ncount = 2\nhost", &format!("\ncount = 2\n{keys}\nhost"));
    let found = error(&needy("sender.cc = \"needy\""));
    assert!(found.contains("parameters of `needy`: `goal` is required"), "{found}");
    let set = needy("sender.cc = \"needy\"\nsender.needy.goal = 3");
    let plan = Scenario::parse(&set, "t.toml").and_then(|scenario| scenario.expand());
    assert!(plan.is_ok(), "{plan:?}");
    let schema = json_schema().to_string();
    for name in ["cubic-ecn", "small-windows", "slow-interrupts"] {
        assert!(schema.contains(&format!("\"{name}\"")), "{name}");
    }

    // A second registration is an error with both places.
    let twice = scheme::REGISTRY.register(&SCHEME).expect_err("a second one of that name");
    let second = line!() - 1;
    for place in [first, second] {
        let place = format!("{}:{place}:", file!());
        assert!(twice.to_string().contains(&place), "{twice}: {place}");
    }
    assert!(host_profile::REGISTRY.register(&HOST).is_err());
    let twice = profile::REGISTRY.register(&profile::linux::ENTRY).expect_err("a built-in one");
    assert!(twice.to_string().contains("the profile `linux` is registered twice"), "{twice}");
}
