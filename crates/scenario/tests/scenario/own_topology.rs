//! A topology of another crate: registered from outside, it works in files and in errors.

use std::sync::Once;

use lowtide_host::run;
use lowtide_net::Routing;
use lowtide_net::topology::REGISTRY;
use lowtide_rows::EndReason;
use lowtide_scenario::{Scenario, json_schema};
use lowtide_units::{Duration, Rate};

use crate::common::{BASE, errors};

#[path = "../../../../examples/own-parts/src/ring.rs"]
mod ring;

fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| REGISTRY.register(&ring::ENTRY).expect("no other ring"));
}

/// Returns the base on the given topology, with one group that sends to itself.
fn on(topology: &str) -> String {
    let text = BASE.replace("kind = \"star\"\n", &format!("{topology}\n"));
    let text = text.replace("[hosts.receivers]\ncount = 1\n", "");
    let text = text.replace("count = 3", "count = \"rest\"");
    text.replace("to = \"receivers\"", "to = \"senders\"")
}

#[test]
fn a_registered_topology_runs() {
    register();
    let text = on("kind = \"ring\"\nnodes = 5\nhosts-per-node = 2\nring-rate = \"10 Gbit/s\"")
        .replace("from = \"senders\"", "from = \"senders.0\"")
        .replace("to = \"senders\"", "to = \"senders.4\"")
        + "[failure.cut]\nlink = \"first\"\ndown = \"10 ms\"\n";
    let plan = Scenario::parse(&text, "t.toml").and_then(|s| s.expand()).unwrap();
    let resolved = plan.runs[0].resolved_toml();
    let own = "nodes = 5\nhosts-per-node = 2\nchord = \"off\"\nring-rate = \"10 Gbit/s\"\n\
               ring-delay = \"10 us\"\n";
    assert!(resolved.contains(own), "{resolved}");
    let again = Scenario::parse(&resolved, "resolved.toml").and_then(|s| s.expand()).unwrap();
    assert_eq!(again.runs[0].hash, plan.runs[0].hash);
    let setup = plan.runs[0].setup().unwrap();
    let net = &setup.network;
    assert_eq!((net.hosts.len(), net.switches.len(), net.links.len()), (10, 5, 15));
    assert_eq!(net.hosts[9], "senders.9");
    assert_eq!(net.routing, Routing::Ecmp { polarised: false });
    let line = &net.links[net.failures[0].link].from_a;
    assert_eq!(
        (net.failures[0].link, line.rate, line.delay),
        (10, Rate::from_gbps(10), Duration::from_us(10))
    );
    let outcome = run(&setup, &mut |_| false).unwrap();
    assert_eq!(outcome.reason, EndReason::Done, "the other way around the ring");
}

#[test]
fn a_number_or_a_word_is_read_and_swept() {
    register();
    let text = on("kind = \"ring\"\nnodes = 9\n") + "[sweep]\n\"topology.chord\" = [\"off\", 4]\n";
    let plan = Scenario::parse(&text, "t.toml").and_then(|s| s.expand()).unwrap();
    let links = |run: &lowtide_scenario::RunSpec| run.setup().unwrap().network.links.len();
    assert_eq!(plan.runs.iter().map(links).collect::<Vec<_>>(), [18, 19]);
    assert!(plan.runs[1].resolved_toml().contains("\nchord = 4\n"));
    let found = errors(&on("kind = \"ring\"\nnodes = 9\nchord = 1"));
    let error = found.first();
    assert_eq!(&error.text[error.span.clone().unwrap()], "1", "{found}");
    assert!(error.message.contains("2 to 9"), "{found}");
}

#[test]
fn errors_know_a_registered_topology() {
    register();
    let near = errors(&on("kind = \"rnig\"")).to_string();
    assert!(near.contains("`rnig` is unknown") && near.contains("did you mean `ring`?"), "{near}");
    let found = errors(&on("kind = \"ring\"\nnodes = 2"));
    let error = found.first();
    assert_eq!(&error.text[error.span.clone().unwrap()], "2", "{found}");
    assert_eq!(error.message, "there is no ring with nodes = 2");
    assert_eq!(error.help.as_deref(), Some("it must be at least 3"));
    let foreign = errors(&BASE.replace("\"star\"", "\"star\"\nring-delay = \"1 us\"")).to_string();
    assert!(foreign.contains("a star has no `ring-delay`"), "{foreign}");
    assert!(foreign.contains("`kind = \"ring\"`"), "{foreign}");
    let kinds = &json_schema()["properties"]["topology"]["properties"]["kind"]["enum"];
    assert!(kinds.as_array().unwrap().iter().any(|kind| kind == "ring"), "{kinds}");
    assert!(REGISTRY.register(&ring::ENTRY).unwrap_err().to_string().contains("`ring`"));
}
