//! Lowtide's TCP on all hosts: no privileges are needed.

use lowtide_rows::{EndReason, FlowStatus};
use lowtide_testbed::StackKind;

use crate::{check_delivered, run, setup};

pub(crate) fn flows_arrive_and_known_values_are_reported() {
    let made = run(&setup(&[]), StackKind::Lowtide, &[]);
    let tables = &made.tables;
    check_delivered(&tables.flows, 4);
    for flow in &tables.flows {
        assert!(flow.ecn && flow.ecn_mode == "rfc3168" && flow.cc_used == "newreno", "{flow:?}");
        assert!(flow.tcp.data_segs_out.unwrap() * 1448 >= 300_000 && flow.tcp.rto_count.is_some());
        assert_eq!(flow.received_bytes.unwrap(), 300_000 + flow.tcp.bytes_retrans.unwrap());
        // Packets are not inspected one by one.
        assert_eq!(flow.ecn_counters, None);
    }
    let queue = tables.queues.iter().find(|q| *q.name == *"switch0->receivers.0").unwrap();
    assert!(
        queue.served.marks > 0
            && queue.served.overflow_drops == 0
            && queue.length.max_packets.unwrap() > 10,
        "{queue:?}"
    );
    let marked: u64 = tables.flows.iter().map(|f| f.received_ce_bytes.unwrap()).sum();
    assert!(marked >= queue.served.marks * 1000, "{marked} bytes of {} marks", queue.served.marks);
    assert!(!tables.queue_samples.is_empty() && !tables.probes.is_empty());
    let measured = made.measured.unwrap();
    assert!(measured.packets > 800 && measured.late_max_us >= measured.late_mean_us);
}

pub(crate) fn an_endless_flow_goes_on_until_the_end_and_warmup_is_left_out() {
    let set = [
        ("run.warmup", "150 ms"),
        ("run.duration", "300 ms"),
        ("run.end", "duration"),
        ("traffic.bulk.size", "unlimited"),
    ];
    let setup = setup(&set);
    let made = run(&setup, StackKind::Lowtide, &[]);
    let tables = &made.tables;
    assert_eq!((tables.run.reason, tables.run.ended_ps), (EndReason::Time, 300_000_000_000));
    for flow in &tables.flows {
        assert_eq!((flow.size_bytes, flow.status), (None, FlowStatus::Unfinished));
        assert!(flow.delivered_bytes > flow.delivered_after_warmup_bytes, "{flow:?}");
    }
    assert!(tables.flows.iter().map(|f| f.delivered_after_warmup_bytes).sum::<u64>() > 0);
}

pub(crate) fn applications_write_as_the_scenario_says() {
    let setup = setup(&[("traffic.bulk.size", "50 kB")]);
    let mut paced = setup.clone();
    let rate = lowtide_units::Rate::from_bps(4_000_000).unwrap();
    let write = lowtide_units::Bytes::new(5_000);
    for flow in &mut paced.flows {
        flow.write_pattern = lowtide_traffic::WritePattern::Rate { rate, write, poisson: false };
    }
    let made = run(&paced, StackKind::Lowtide, &[]);
    check_delivered(&made.tables.flows, 4);
    // The last write is due 45 kB after the planned start, also where the flow opened late.
    for flow in &made.tables.flows {
        let planned = paced.flow_start(flow.flow).unwrap().as_ps();
        assert!(flow.delivered_ps.unwrap() >= planned + 90_000_000_000, "{planned} {flow:?}");
    }
    let mut bursts = setup;
    let pause = lowtide_units::Duration::from_ms(20);
    for flow in &mut bursts.flows {
        flow.write_pattern = lowtide_traffic::WritePattern::OnOff { burst: write, pause };
    }
    let made = run(&bursts, StackKind::Lowtide, &[]);
    check_delivered(&made.tables.flows, 4);
    let least = made.tables.flows.iter().map(|f| f.fct_ps.unwrap()).min().unwrap();
    assert!(least >= 180_000_000_000, "nine pauses of 20 ms: {least}");
}

pub(crate) fn an_interrupted_run_returns_none() {
    use lowtide_lab::Backend;
    let testbed = lowtide_testbed::Testbed::new(crate::choice(StackKind::Lowtide, &[]));
    let mut looks = 0;
    let stop = &mut |_| {
        looks += 1;
        looks > 1
    };
    assert_eq!(testbed.run(&setup(&[("traffic.bulk.size", "30 MB")]), stop), Ok(None));
}
