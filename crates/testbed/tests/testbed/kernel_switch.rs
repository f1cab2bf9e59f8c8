//! The bottleneck in the kernel's own path.

use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;

use lowtide_host::Setup;
use lowtide_kernel::{KernelBottleneck, PortSettings, Shaper};
use lowtide_lab::{Backend, CompletedRun};
use lowtide_live::Clock;
use lowtide_live::links::{Links, VethEnd};
use lowtide_live::netns::Namespace;
use lowtide_rows::QueueRow;
use lowtide_test_needs::Need;
use lowtide_testbed::{BottleneckKind, StackKind, Testbed};
use lowtide_units::{Duration, QueueLength, Rate};

use crate::{SMALL, choice, setup, setup_of};

/// A binary with BPF programs, and a kernel that takes them.
pub(crate) const PROGRAMS: Need = Need {
    name: "BPF programs",
    probe: || KernelBottleneck::load().map(drop).map_err(|error| error.to_string()),
    enforceable: false,
};

/// The links of a kernel without `fq` have no delay.
const NO_DELAY: (&str, &str) = ("topology.link-delay", "0 s");

fn testbed(kind: BottleneckKind) -> Testbed {
    Testbed::new(choice(StackKind::Kernel, &[])).bottleneck(kind)
}

fn run(setup: &Setup, kind: BottleneckKind) -> CompletedRun {
    testbed(kind).check(setup).expect("it can be run");
    testbed(kind).run(setup, &mut |_| false).expect("it ran").expect("it was not stopped")
}

/// [`SMALL`] with another marker.
fn marked(mark: &str, set: &[(&str, &str)]) -> Setup {
    setup_of(&SMALL.replace("kind = \"step\"\nk = \"10 pkt\"", mark), set)
}

fn queue(run: &CompletedRun) -> &QueueRow {
    run.tables.queues.iter().find(|q| *q.name == *"switch0->receivers.0").expect("the port")
}

/// Refused before a device is made, so that no privilege and no program is needed.
pub(crate) fn what_it_lacks_is_refused_by_name() {
    let refused = |set: &[(&str, &str)]| {
        let refusal = testbed(BottleneckKind::Kernel).check(&setup(set)).expect_err("refused");
        format!("{} / {}", refusal.message, refusal.help.unwrap_or_default())
    };
    for (key, value, what) in [
        ("switch.mark.kind", "step-dequeue", "no marker `step-dequeue`"),
        ("switch.buffer", "5000 pkt", "static buffers of 4095 packets"),
        ("topology.framing", "ip", "counts Ethernet framing"),
    ] {
        let message = refused(&[(key, value)]);
        assert!(message.contains(what) && message.contains("--bottleneck user"), "{message}");
    }
    for (mark, what) in [
        ("kind = 'codel'", "`codel` has no `not-ect = ignore`"),
        ("kind = 'pie'\nnot-ect = 'drop'", "`pie` has no `derandomise = false`"),
        ("kind = 'red'\nmin = '5 pkt'\nmax = '9 pkt'\nweight = 0", "no burst for `weight = 0`"),
    ] {
        let refusal = testbed(BottleneckKind::Kernel).check(&marked(mark, &[])).expect_err(mark);
        assert!(refusal.message.contains(what), "{}", refusal.message);
    }
    let fair = testbed(BottleneckKind::KernelFqCodel).check(&setup(&[])).expect_err("refused");
    assert!(fair.message.contains("in place of the marker `codel`"), "{fair:?}");
    let ours =
        Testbed::new(choice(StackKind::Kernel, &["senders"])).bottleneck(BottleneckKind::Kernel);
    let message = ours.check(&setup(&[])).expect_err("it is refused").message;
    assert!(message.contains("host `senders.0` has lowtide's TCP"), "{message}");
}

pub(crate) fn the_delay_of_links_needs_departure_times() {
    let checked = testbed(BottleneckKind::Kernel).check(&setup(&[]));
    if let Err(refusal) = checked {
        let help = refusal.help.unwrap_or_default();
        assert!(refusal.message.contains("no `fq`") && help.contains("link-delay"), "{help}");
        return;
    }
    // Four lines of 20 ms are a round trip: connecting takes as long.
    let slow = run(&setup(&[("topology.link-delay", "20 ms")]), BottleneckKind::Kernel);
    for flow in &slow.tables.flows {
        let connected = flow.established_ps.expect("it was open") - flow.start_ps;
        assert!(connected >= 80_000_000_000, "{flow:?}");
    }
}

/// One scenario over both switches. The judge of each is the other: they share no code.
pub(crate) fn it_marks_as_the_user_space_switch() {
    // Two long flows after slow start, at a rate that an emulated kernel forwards in real time.
    let setup = setup(&[
        NO_DELAY,
        ("topology.link-rate", "3 Mbit/s"),
        ("traffic.bulk.count", "2"),
        ("traffic.bulk.size", "unlimited"),
        ("run.warmup", "1 s"),
        ("run.duration", "4 s"),
        ("run.end", "duration"),
    ]);
    let [kernel, user] = [BottleneckKind::Kernel, BottleneckKind::User].map(|kind| {
        let made = run(&setup, kind);
        let queue = queue(&made);
        let bytes: u64 = made.tables.flows.iter().map(|f| f.delivered_after_warmup_bytes).sum();
        assert_eq!(queue.drops, 0, "{queue:?}");
        assert!(queue.served.marks > 0 && queue.length.max_packets > Some(10), "{queue:?}");
        assert!(queue.served.bytes >= bytes, "{queue:?}");
        (queue.length.mean_packets.expect("it was observed"), bytes as f64)
    });
    // 3 Mbit/s for 3 s with 1448 of 1538 bytes as data, to the kernel's accuracy of wake-ups.
    let line = 3.75e5 * 3.0 * 1448.0 / 1538.0;
    assert!((0.9..1.01).contains(&(kernel.1 / line)), "{kernel:?}");
    assert!((0.7..1.4).contains(&(kernel.0 / user.0)), "{kernel:?} {user:?}");
}

/// The kernel's qdiscs beside our switch with our markers, which share no code.
pub(crate) fn its_qdiscs_mark_as_our_markers_or_are_refused() {
    for (mark, kind) in [
        ("kind = 'red'\nmin = '5 pkt'\nmax = '15 pkt'\nweight = 5", BottleneckKind::Kernel),
        ("kind = 'codel'\nnot-ect = 'drop'", BottleneckKind::KernelFqCodel),
    ] {
        let setup = marked(
            mark,
            &[
                ("topology.link-delay", "2 ms"),
                ("topology.link-rate", "5 Mbit/s"),
                ("traffic.bulk.count", "2"),
                ("traffic.bulk.size", "unlimited"),
                ("run.warmup", "1 s"),
                ("run.duration", "5 s"),
                ("run.end", "duration"),
            ],
        );
        if let Err(refusal) = testbed(kind).check(&setup) {
            assert!(refusal.message.contains("does not take a qdisc"), "{}", refusal.message);
            continue;
        }
        let [kernel, user] = [kind, BottleneckKind::User].map(|kind| {
            let made = run(&setup, kind);
            let queue = queue(&made);
            (queue.length.mean_packets.expect("it was observed"), queue.served.marks as f64)
        });
        assert!((0.6..1.7).contains(&(kernel.0 / user.0)), "{mark}: {kernel:?} {user:?}");
        assert!((0.5..2.0).contains(&(kernel.1 / user.1)), "{mark}: {kernel:?} {user:?}");
    }
}

/// The kernel's count of received packets by ECN field, in this thread's namespace.
fn received(field: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/netstat").unwrap();
    let mut lines = text.lines().filter(|line| line.starts_with("IpExt:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let mut both = names.split_whitespace().zip(values.split_whitespace());
    both.find(|(name, _)| *name == field).unwrap().1.parse().unwrap()
}

/// A burst of 20 packets into a port of 100 kbit/s, where each takes 85 ms. The judge is
/// arithmetic, and the receiving kernel's count of ECN fields.
pub(crate) fn each_packet_of_a_burst_has_the_fate_of_its_place() {
    const RATE_BPS: u64 = 100_000;
    // IP bytes and framing of a datagram of 1000 bytes. The bucket is one Ethernet frame of it.
    const TIME_NS: u64 = (1_028 + 38) * 8 * 1_000_000_000 / RATE_BPS;
    let lead = Duration::from_us(60);
    let [from, to] = [1, 2].map(|n| Ipv4Addr::new(10, 9, 0, n));
    let [sender, receiver] = [(); 2].map(|()| Namespace::new().unwrap());
    let device = |namespace: &Namespace, name: &str, address: Ipv4Addr| {
        let up = namespace.run(|| {
            let mut links = Links::open().unwrap();
            links.disable_offloads(name).unwrap();
            links.add_address(name, address.into(), 24).unwrap();
            links.set_link_up(name, true).unwrap();
            links.get(name).unwrap().index
        });
        up.unwrap()
    };
    let veth = || {
        let end = |name, namespace| VethEnd { name, namespace };
        let mut links = Links::open().unwrap();
        links.add_veth(&end("port0", None), &end("eth0", Some(&receiver)), 1500).unwrap();
    };
    sender.run(veth).unwrap();
    let [port, host] = [device(&sender, "port0", from), device(&receiver, "eth0", to)];
    let tbf = "qdisc add dev port0 root tbf rate 100kbit burst 1042 limit 1000000 overhead 24";
    let shaped = || Command::new("tc").args(tbf.split(' ')).status().unwrap().success();
    assert!(sender.run(shaped).unwrap());
    let bottleneck = KernelBottleneck::load().unwrap();
    sender.run(|| bottleneck.attach_port(port)).unwrap().unwrap();
    receiver.run(|| bottleneck.attach_host(host)).unwrap().unwrap();
    let settings = PortSettings {
        address: to,
        rate: Rate::from_bps(RATE_BPS).unwrap(),
        overhead: 38,
        k: Some(QueueLength::Packets(5)),
        buffer: Some(QueueLength::Packets(12)),
        count_in_service: false,
        drop_not_ect: false,
        shaper: Shaper::TokenBucket { lead, packet: Duration::from_ns(TIME_NS) },
    };
    bottleneck.start(&settings).unwrap();
    let burst = || {
        let socket = UdpSocket::bind((from, 0)).unwrap();
        let started = Clock::start();
        // ECT(0).
        socket2::SockRef::from(&socket).set_tos_v4(2).unwrap();
        for _ in 0..20 {
            // A drop at the port is an error of the call.
            let _ = socket.send_to(&[0; 1000], (to, 9));
        }
        started.now().since_start()
    };
    let took = sender.run(burst).unwrap();
    std::thread::sleep(std::time::Duration::from_nanos(TIME_NS * 15));
    // Packet i, from zero, finds max(i - 1, 0) before it and the one on the line: from packet 7 on
    // more than K, from packet 13 on a full buffer.
    let counts = bottleneck.read(to).unwrap();
    assert!(took < Duration::from_ns(TIME_NS), "the burst took {took:?}");
    assert_eq!((counts.packets, counts.marks, counts.overflow_drops), (13, 6, 7));
    let arrivals = counts.levels.iter().map(|(_, arrivals)| *arrivals);
    let expected = (0..13).map(|_| 1).chain([7, 0]);
    assert_eq!(arrivals.take(15).collect::<Vec<u64>>(), expected.collect::<Vec<u64>>());
    for (ns, _) in &counts.levels[1..13] {
        assert!((TIME_NS..2 * TIME_NS).contains(ns), "a packet takes {TIME_NS} ns, not {ns}");
    }
    let fields = || ["InCEPkts", "InECT0Pkts"].map(received);
    assert_eq!(receiver.run(fields).unwrap(), [6, 7]);
    assert_eq!(counts.late().map(|(_, packets)| packets).sum::<u64>(), 13);
}
