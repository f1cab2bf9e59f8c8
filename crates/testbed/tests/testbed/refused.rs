//! Setups that a testbed refuses, and their messages.

use lowtide_host::Setup;
use lowtide_lab::Backend;
use lowtide_test_needs::{ACC_ECN, Need};
use lowtide_testbed::{StackChoice, StackKind, Testbed};
use lowtide_traffic::CollectiveSpec;
use lowtide_units::{Duration, Instant};

use crate::queries::QUERIES;
use crate::{choice, setup, setup_of};

fn refusal(set: &[(&str, &str)], choice: StackChoice) -> String {
    refusal_of(&setup(set), choice)
}

fn refusal_of(setup: &Setup, choice: StackChoice) -> String {
    let refusal = Testbed::new(choice).check(setup).expect_err("it is refused");
    format!("{} / {}", refusal.message, refusal.help.unwrap_or_default())
}

pub(crate) fn unsupported_setups_are_refused_by_name() {
    let ours = || choice(StackKind::Lowtide, &[]);
    let many = refusal(&[("hosts.senders.count", "100")], ours());
    assert!(many.contains("101 hosts are more than the 64"), "{many}");
    let fast = refusal(&[("topology.link-rate", "10 Gbit/s")], ours());
    assert!(fast.contains("10 Gbit/s") && fast.contains("100 Mbit/s"), "{fast}");
    let traced = refusal(&[("probes.trace", "0")], ours());
    assert!(traced.contains("cannot be traced") && traced.contains("lowtide analyze"), "{traced}");
    let mut training = setup(&[]);
    let ranks = Vec::new();
    let (start, jitter) = (Instant::ZERO, Duration::ZERO);
    training.collectives = vec![CollectiveSpec { group: 0, start, iterations: 1, jitter, ranks }];
    let training = refusal_of(&training, ours());
    assert!(training.contains("collectives over real packets") && training.contains("simulate"));
    let stray = refusal(&[], choice(StackKind::Lowtide, &["servers"]));
    assert!(stray.contains("`servers`") && stray.contains("senders, receivers"), "{stray}");
}

pub(crate) fn queries_that_have_no_room_or_no_end_are_refused() {
    let open = [
        ("traffic.ask.loop", "poisson"),
        ("traffic.ask.mean-gap", "1 ms"),
        ("traffic.ask.queries", "10000000"),
        ("traffic.ask.connections", "per-request"),
    ];
    let ours = || choice(StackKind::Lowtide, &[]);
    let endless = refusal_of(&setup_of(QUERIES, &open), ours());
    assert!(endless.contains("counted-done") && endless.contains("run.end=done"), "{endless}");
    // A thousand queries to two servers each second, for 100 s, from two clients.
    let set = [&open[..], &[("run.end", "done"), ("run.duration", "100 s")]].concat();
    let many = refusal_of(&setup_of(QUERIES, &set), ours());
    assert!(many.contains("connections at a time need") && many.contains("ulimit -n"), "{many}");
}

/// A kernel in which Accurate ECN cannot be enabled.
pub(crate) const NO_ACC_ECN: Need = Need {
    name: "a kernel without Accurate ECN",
    probe: || match (ACC_ECN.probe)() {
        Ok(()) => Err("this one has it".into()),
        Err(_) => Ok(()),
    },
    enforceable: false,
};

pub(crate) fn accurate_ecn_is_refused_where_the_kernel_lacks_it() {
    let accecn = refusal(&[("transport.scheme", "accecn")], choice(StackKind::Kernel, &[]));
    assert!(accecn.contains("not support Accurate ECN"), "{accecn}");
}

pub(crate) fn controls_that_the_kernel_lacks_are_refused_with_a_way_out() {
    let kernels = || choice(StackKind::Kernel, &[]);
    let vegas = refusal(&[("transport.scheme", "vegas")], kernels());
    assert!(vegas.contains("host `senders.0`") && vegas.contains("--kernel-cc vegas="), "{vegas}");
    let available = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    if !available.unwrap_or_default().contains("dctcp") {
        let dctcp = refusal(&[("transport.scheme", "dctcp")], kernels());
        assert!(dctcp.contains("no control `dctcp`") && dctcp.contains("tcp_dctcp"), "{dctcp}");
    }
    let renamed = StackChoice {
        cc_mapping: vec![("newreno".to_owned(), "no-such-control".to_owned())],
        ..kernels()
    };
    let refused = refusal(&[], renamed);
    assert!(refused.contains("no control `no-such-control`"), "{refused}");
}

pub(crate) fn each_host_needs_the_twin_of_its_own_scheme() {
    let kernels = choice(StackKind::Kernel, &[]);
    let available = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let available = available.unwrap_or_default();
    for (group, scheme, twin) in
        [("receivers", "dctcp", "lt_dctcp"), ("senders", "odctcp-sender", "lt_odctcp_snd")]
    {
        // Somebody may have loaded it.
        if available.split_whitespace().any(|name| name == twin || name == "dctcp") {
            continue;
        }
        let refused = refusal(&[(&format!("hosts.{group}.scheme"), scheme)], kernels.clone());
        assert!(
            refused.contains(&format!("host `{group}.0`: "))
                && refused.contains(&format!("`lowtide kernel load {twin}`")),
            "{refused}"
        );
    }
}
