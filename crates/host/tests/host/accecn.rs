//! DCTCP over Accurate ECN in a network: what was wished and what was agreed, and a queue as with
//! DCTCP's own echo.

use crate::common::{config, flow, outcome, port, star_setup};
use lowtide_host::{FlowRecord, FlowStatus, Outcome};
use lowtide_units::{Duration, Instant};

const K: u64 = 20;

/// Two flows of `sender` to a host of `receiver`.
fn run(sender: &str, receiver: &str) -> Outcome {
    let mut setup = star_setup(2, &config(sender), port(500, K));
    setup.hosts[2].config = config(receiver);
    setup.flows = (0..2).map(|src| flow(&setup, src, 12_000_000, Duration::ZERO)).collect();
    outcome(&setup)
}

fn facts(f: &FlowRecord) -> (&str, &str, Option<&str>, &str) {
    (&f.ecn_requested, f.ecn_mode, f.feedback_used, f.ack_used)
}

#[test]
fn the_record_says_what_was_wished_and_what_was_used() {
    for (sender, receiver, used) in [
        ("dctcp-accecn", "accecn", ("accecn", "accecn", Some("accecn"), "accecn")),
        ("accecn", "dctcp-accecn", ("accecn", "accecn", Some("accecn"), "accecn")),
        // A classic peer: the standard decoder, whatever the peer echoes by.
        ("dctcp-accecn", "ecn", ("accecn", "rfc3168", Some("rfc3168"), "rfc3168")),
        ("dctcp-accecn", "dctcp", ("accecn", "rfc3168", Some("rfc3168"), "dctcp")),
        ("dctcp-accecn", "sack", ("accecn", "off", None, "rfc3168")),
        // A classic sender at a receiver that could do more.
        ("dctcp", "accecn", ("rfc3168", "rfc3168", Some("dctcp"), "rfc3168")),
        ("sack", "accecn", ("off", "off", None, "rfc3168")),
    ] {
        let o = run(sender, receiver);
        for f in &o.flows {
            assert_eq!(f.status, FlowStatus::Complete);
            assert_eq!(facts(f), used, "{sender} to {receiver}");
            assert_eq!(f.ecn, used.1 != "off");
            assert_eq!(f.ecn_reductions > 0, f.ecn, "{sender} to {receiver}");
            assert_eq!(f.ce_bytes > 0, f.ecn, "{sender} to {receiver}");
        }
    }
}

/// The mean queue by time, in packets, and the time that both flows took.
fn queue(o: &Outcome) -> (f64, Duration) {
    let q = o.queues.iter().max_by_key(|q| q.marks).expect("a queue");
    let (mut area, mut time) = (0.0, 0.0);
    for level in &q.levels {
        let span = level.time.as_us() as f64;
        area += span * f64::from(level.packets);
        time += span;
    }
    let last = o.flows.iter().filter_map(|f| f.delivered_at).max().expect("delivered");
    (area / time, last.saturating_since(Instant::ZERO))
}

#[test]
fn the_queue_is_that_of_dctcp_with_its_own_echo() {
    let (own, own_time) = queue(&run("dctcp", "dctcp"));
    let (accurate, accurate_time) = queue(&run("dctcp-accecn", "dctcp-accecn"));
    let (halving, _) = queue(&run("accecn", "accecn"));
    assert!((accurate - own).abs() < 2.0, "{accurate:.1} and {own:.1} packets");
    let ratio = accurate_time.as_us() as f64 / own_time.as_us() as f64;
    assert!((0.99..1.01).contains(&ratio), "{accurate_time} and {own_time}");
    // Half of the window at each mark keeps less in the queue.
    assert!(halving < accurate, "{halving:.1} and {accurate:.1} packets");
}
