//! Scenarios over real TCP, in real time. No assertion hangs on speed; what needs a right that is missing says so.
#![cfg(target_os = "linux")]
#![expect(clippy::print_stderr, reason = "a test that cannot run says why")]

mod kernels;
mod ours;
mod refused;

use lowtide_host::Setup;
use lowtide_lab::{Backend, Made};
use lowtide_record::FlowRow;
use lowtide_scenario::Scenario;
use lowtide_testbed::{Choice, Testbed, Whose};

/// Two senders and a receiver at 40 Mbit/s; four transfers that are over in a quarter of a second.
pub(crate) const SMALL: &str = r#"
schema = 1
title = "Small"
[run]
duration = "30 s"
end = "done"
[topology]
kind = "star"
link-rate = "40 Mbit/s"
link-delay = "100 us"
[switch]
buffer = "200 pkt"
[switch.mark]
kind = "step"
k = "10 pkt"
[transport]
profile = "linux"
scheme = "ecn"
[hosts.senders]
count = 2
[hosts.receivers]
count = 1
[traffic.bulk]
kind = "transfers"
from = "senders"
to = "receivers"
count = 4
size = "300 kB"
[probes]
interval = "5 ms"
groups = ["bulk"]
queues = true
"#;

/// The only run of [`SMALL`] with these keys.
pub(crate) fn setup(set: &[(&str, &str)]) -> Setup {
    let scenario = Scenario::parse(SMALL, "small.toml").expect("it is right");
    let scenario = set.iter().fold(scenario, |s, (k, v)| s.with_override(k, v).expect("a key"));
    scenario.expand().expect("a plan").runs[0].setup().expect("a run")
}

pub(crate) fn choice(all: Whose, except: &[&str]) -> Choice {
    let except = except.iter().map(|s| (*s).to_owned()).collect();
    Choice { all, except, controls: Vec::new() }
}

/// What real packets make of a run.
pub(crate) fn run(setup: &Setup, all: Whose, except: &[&str]) -> Made {
    let testbed = Testbed::new(choice(all, except));
    testbed.check(setup).expect("it can be run");
    testbed.run(setup, &mut |_| false).expect("it ran").expect("nobody stopped it")
}

/// Every flow was delivered, and its row is in order.
pub(crate) fn check_delivered(flows: &[FlowRow], count: usize) {
    assert_eq!(flows.len(), count);
    for (flow, number) in flows.iter().zip(0..) {
        assert_eq!((flow.flow, flow.status.as_str()), (number, "complete"), "{flow:?}");
        assert_eq!(Some(flow.delivered_bytes), flow.size_bytes);
        let (start, open) = (flow.start_ps, flow.established_ps.expect("it was open"));
        assert!(start <= open && Some(open) <= flow.delivered_ps, "{flow:?}");
        assert!(
            flow.ideal_ps.is_some_and(|ideal| flow.fct_ps >= Some(ideal)),
            "faster than the line: {flow:?}"
        );
    }
}

/// Whether this process may make namespaces.
pub(crate) fn may() -> bool {
    let may = lowtide_live::netns::Namespace::new().is_ok()
        && std::path::Path::new("/dev/net/tun").exists();
    if !may {
        eprintln!("skipped: namespaces and TUN interfaces need root and /dev/net/tun");
    }
    may
}
