//! DCTCP over Accurate ECN in a network: the requested and the negotiated mode, and the same queue
//! as with DCTCP's own echo.

use crate::common::{config, flow, outcome, port, star_setup};
use lowtide_host::Outcome;
use lowtide_rows::{FlowRow, FlowStatus};
use lowtide_units::Duration;

const K: u64 = 20;

/// Two flows of `sender` to a host of `receiver`.
fn run(sender: &str, receiver: &str) -> Outcome {
    let mut setup = star_setup(2, &config(sender), port(500, K));
    setup.hosts[2].config = config(receiver);
    setup.flows = (0..2).map(|src| flow(&setup, src, 12_000_000, Duration::ZERO)).collect();
    outcome(&setup)
}

fn facts(f: &FlowRow) -> (&str, &str, Option<&str>, &str) {
    (&f.ecn_requested, &f.ecn_mode, f.feedback_used.as_deref(), &f.ack_used)
}

#[test]
fn the_record_has_the_requested_and_the_used_names() {
    for (sender, receiver, used) in [
        ("dctcp-accecn", "accecn", ("accecn", "accecn", Some("accecn"), "accecn")),
        ("accecn", "dctcp-accecn", ("accecn", "accecn", Some("accecn"), "accecn")),
        // A classic peer: the standard decoder, whatever the peer's ACK policy.
        ("dctcp-accecn", "ecn", ("accecn", "rfc3168", Some("rfc3168"), "rfc3168")),
        ("dctcp-accecn", "dctcp", ("accecn", "rfc3168", Some("rfc3168"), "dctcp")),
        ("dctcp-accecn", "sack", ("accecn", "off", None, "rfc3168")),
        // A classic sender and a receiver that supports more.
        ("dctcp", "accecn", ("rfc3168", "rfc3168", Some("dctcp"), "rfc3168")),
        ("sack", "accecn", ("off", "off", None, "rfc3168")),
    ] {
        let o = run(sender, receiver);
        for f in &o.flows {
            assert_eq!(f.status, FlowStatus::Complete);
            assert_eq!(facts(f), used, "{sender} to {receiver}");
            assert_eq!(f.ecn, used.1 != "off");
            assert_eq!(f.tcp.ecn_reductions > Some(0), f.ecn, "{sender} to {receiver}");
            assert_eq!(f.received_ce_bytes > Some(0), f.ecn, "{sender} to {receiver}");
        }
    }
}

/// Returns the time-weighted mean queue in packets, and the duration of both flows.
fn queue(o: &Outcome) -> (f64, Duration) {
    let q = o.queues.iter().max_by_key(|q| q.served.marks).expect("a queue");
    let (mut area, mut time) = (0.0, 0.0);
    for level in &q.levels {
        let span = level.time_ps as f64;
        area += span * f64::from(level.packets);
        time += span;
    }
    let last = o.flows.iter().filter_map(|f| f.delivered_ps).max().expect("delivered");
    (area / time, Duration::from_ps(last))
}

#[test]
fn the_queue_is_that_of_dctcp_with_its_own_echo() {
    let (own, own_time) = queue(&run("dctcp", "dctcp"));
    let (accurate, accurate_time) = queue(&run("dctcp-accecn", "dctcp-accecn"));
    let (halving, _) = queue(&run("accecn", "accecn"));
    assert!((accurate - own).abs() < 2.0, "{accurate:.1} and {own:.1} packets");
    let ratio = accurate_time.as_us() as f64 / own_time.as_us() as f64;
    assert!((0.99..1.01).contains(&ratio), "{accurate_time} and {own_time}");
    // Halving the window at each mark leaves a shorter queue.
    assert!(halving < accurate, "{halving:.1} and {accurate:.1} packets");
}
