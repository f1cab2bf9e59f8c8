//! The kernel's TCP, in new namespaces.

use lowtide_testbed::StackKind;

use crate::{check_delivered, run, setup};

pub(crate) fn kernel_stacks_run_the_scenario_and_report_counters() {
    let made = run(&setup(&[]), StackKind::Kernel, &[]);
    let tables = &made.tables;
    check_delivered(&tables.flows, 4);
    for flow in &tables.flows {
        assert_eq!((&*flow.cc_used, &*flow.ack_used), ("reno", "kernel"));
        assert!(flow.ecn && flow.ecn_mode == "rfc3168", "{flow:?}");
        assert!(
            flow.tcp.data_segs_out.unwrap() * 1448 >= 300_000 && flow.tcp.bytes_retrans.is_some()
        );
        assert_eq!(
            (flow.tcp.ecn_reductions, flow.tcp.delack_timeouts, flow.received_ce_bytes),
            (None, None, None)
        );
    }
    let queue = tables.queues.iter().find(|q| *q.name == *"switch0->receivers.0").unwrap();
    assert!(
        queue.served.marks > 0
            && queue.served.overflow_drops == 0
            && queue.length.max_packets.unwrap() > 10,
        "{queue:?}"
    );
    assert!(tables.probes.iter().any(|p| p.cwnd_bytes > 0 && p.srtt_ns.is_some()));
    let differences = made.measured.unwrap().differences;
    assert!(differences.iter().any(|d| d.contains("`freeze-growth`")), "{differences:?}");
}

pub(crate) fn kernel_stacks_use_the_scenarios_ecn_and_cc() {
    let cubic = setup(&[("transport.scheme", "sack"), ("transport.sender.cc", "cubic")]);
    let made = run(&cubic, StackKind::Kernel, &[]);
    check_delivered(&made.tables.flows, 4);
    assert!(made.tables.flows.iter().all(|f| !f.ecn && f.cc_used == "cubic"));
    let queue = made.tables.queues.iter().find(|q| *q.name == *"switch0->receivers.0").unwrap();
    assert_eq!(queue.served.marks, 0);
}

pub(crate) fn mixed_stacks_interoperate() {
    for (all, except) in [(StackKind::Lowtide, "senders"), (StackKind::Kernel, "senders.*")] {
        let made = run(&setup(&[]), all, &[except]);
        check_delivered(&made.tables.flows, 4);
        let ours = all == StackKind::Kernel;
        for flow in &made.tables.flows {
            assert!(flow.ecn, "{flow:?}");
            assert_eq!(flow.tcp.ecn_reductions.is_some(), ours, "of the sender: {flow:?}");
            assert_eq!(flow.received_ce_bytes.is_some(), !ours, "of the receiver: {flow:?}");
        }
    }
}
