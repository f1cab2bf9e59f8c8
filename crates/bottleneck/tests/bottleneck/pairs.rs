//! The kernel's TCP and lowtide's in all pairs as sender and receiver, under loss, duplication,
//! corruption and reordering. Every byte must arrive with every negotiated option.

use lowtide_live::config;
use lowtide_live::load::TransferDirection;
use lowtide_tcp::EcnMode;
use lowtide_tcp::scheme;

use crate::world::{
    HostStack, World, bytes, faults_in_both_directions, megabytes, network, with_timeout,
};

/// Parallel connections, so that their timeouts overlap.
const PARALLEL: usize = 6;

/// Settings of the kernel and of lowtide.
struct PairCase {
    name: &'static str,
    kernel: &'static [(&'static str, &'static str)],
    ours: &'static [(&'static str, &'static str)],
    /// ECN modes of connections opened by the first and by the second host.
    ecn: Option<[EcnMode; 2]>,
}

const fn case(
    name: &'static str,
    kernel: &'static [(&'static str, &'static str)],
    ours: &'static [(&'static str, &'static str)],
) -> PairCase {
    PairCase { name, kernel, ours, ecn: None }
}

/// Each `tcp_ecn` (0 off, 1 on, 2 passive) with each ECN setting of ours. Ours is the first host.
const ECN: [PairCase; 6] = {
    use EcnMode::{Classic, Off};
    const fn ecn(
        name: &'static str,
        kernel: &'static [(&'static str, &'static str)],
        ours: &'static [(&'static str, &'static str)],
        modes: [EcnMode; 2],
    ) -> PairCase {
        PairCase { name, kernel, ours, ecn: Some(modes) }
    }
    [
        ecn("off off", &[("tcp_ecn", "0")], &[("ecn", "off")], [Off, Off]),
        ecn("off on", &[("tcp_ecn", "0")], &[("ecn", "rfc3168")], [Off, Off]),
        ecn("on off", &[("tcp_ecn", "1")], &[("ecn", "off")], [Off, Off]),
        ecn("on on", &[("tcp_ecn", "1")], &[("ecn", "rfc3168")], [Classic, Classic]),
        ecn("on passive", &[("tcp_ecn", "1")], &[("ecn", "passive")], [Off, Classic]),
        ecn("passive on", &[("tcp_ecn", "2")], &[("ecn", "rfc3168")], [Classic, Off]),
    ]
};

const OPTIONS: [PairCase; 7] = [
    case("no sack there", &[("tcp_sack", "0")], &[]),
    case("no sack here", &[], &[("sack", "false")]),
    case("no timestamps there", &[("tcp_timestamps", "0")], &[]),
    case("no timestamps here", &[], &[("timestamps", "false")]),
    case("no scaling there", &[("tcp_window_scaling", "0")], &[]),
    case("no scaling here", &[], &[("window-scaling", "false")]),
    case(
        "nothing at all",
        &[
            ("tcp_sack", "0"),
            ("tcp_timestamps", "0"),
            ("tcp_window_scaling", "0"),
            ("tcp_ecn", "0"),
        ],
        &[("sack", "false"), ("timestamps", "false"), ("window-scaling", "false"), ("ecn", "off")],
    ),
];

/// Faults in both directions.
const FAULTS: [&str; 4] = ["loss=0.5 %", "reorder=1 %/300us", "duplicate=1 %", "corrupt=0.5 %"];

/// Transfers data in both directions over connections opened by either host.
fn run(stacks: [HostStack; 2], case: &PairCase, v6: bool) {
    let what = format!("{} {stacks:?} v6 {v6}", case.name);
    let world =
        World::new(stacks, &network("1 Gbit/s", 50, 100, 20), &faults_in_both_directions(&FAULTS));
    let base: &[(&str, &str)] = &[("ecn", "rfc3168")];
    let config = config("linux", None, &[base, case.ours].concat()).unwrap();
    for host in &world.hosts {
        host.set("tcp_ecn", "1");
        for (name, value) in case.kernel {
            host.set(name, value);
        }
    }
    let each = megabytes() * 1_000_000 / 4 / PARALLEL as u64;
    let mut modes = Vec::new();
    for client in [0, 1] {
        for direction in [TransferDirection::Up, TransferDirection::Down] {
            let load = bytes(direction, PARALLEL, each);
            let (report, served) = world.transfer(&what, (client, v6), &config, &load);
            let all = report.streams.iter().chain(&served);
            modes.push(all.filter_map(|s| s.info).map(|i| i.tcp.ecn).collect::<Vec<_>>());
        }
    }
    if let (Some(expected), true) = (case.ecn, stacks.contains(&HostStack::Lowtide)) {
        for (observed, expected) in modes.chunks(2).zip(expected) {
            // A lost SYN may be retransmitted without ECN (RFC 3168 §6.1.1.1).
            let agreed = observed.iter().flatten().filter(|mode| **mode == expected).count();
            let fell_back =
                observed.iter().flatten().all(|mode| [expected, EcnMode::Off].contains(mode));
            assert!(fell_back && agreed > PARALLEL, "{what}: {modes:?}");
        }
    }
    let (report, ours) = world.end();
    // All faults were injected, and corruption was detected.
    let lost: u64 = report.ports.iter().map(|p| p.losses.random_losses).sum();
    let faults = |f: fn(&lowtide_bottleneck::FaultCounts) -> u64| -> u64 {
        report.hosts.iter().map(|h| f(&h.faults)).sum()
    };
    let injected =
        [lost, faults(|f| f.reordered), faults(|f| f.duplicated), faults(|f| f.corrupted)];
    assert!(injected.iter().all(|n| *n > 0), "{what}: {injected:?}");
    for stats in ours {
        let detected = stats.packets.bad_checksum + stats.packets.malformed;
        assert!(detected > 0 && detected <= injected[3], "{what}: {detected} of {injected:?}");
    }
    let marks: u64 = report.ports.iter().map(|p| p.served.marks).sum();
    eprintln!(
        "{what}: {} MB, {lost} lost, {} reordered, {} duplicated, {} corrupted, {marks} marked",
        megabytes(),
        injected[1],
        injected[2],
        injected[3]
    );
}

fn run_all(cases: &'static [PairCase], stacks: [HostStack; 2]) {
    with_timeout(move || {
        for (i, case) in cases.iter().enumerate() {
            run(stacks, case, i % 2 == 1);
        }
    });
}

pub(crate) fn ours_and_the_kernels_with_every_ecn_setting() {
    run_all(&ECN, [HostStack::Lowtide, HostStack::Kernel]);
}

pub(crate) fn ours_and_the_kernels_with_every_option() {
    run_all(&OPTIONS, [HostStack::Lowtide, HostStack::Kernel]);
}

pub(crate) fn kernel_to_kernel() {
    const BOTH: [PairCase; 2] = [case("plain", &[], &[]), case("bare", &[("tcp_sack", "0")], &[])];
    run_all(&BOTH, [HostStack::Kernel, HostStack::Kernel]);
}

/// Every sender of ours to the kernel's receiver, and the kernel's sender to every receiver of
/// ours.
pub(crate) fn every_scheme_against_the_kernel() {
    with_timeout(|| {
        let plan = network("1 Gbit/s", 50, 100, 20);
        let world = World::new(
            [HostStack::Lowtide, HostStack::Kernel],
            &plan,
            &faults_in_both_directions(&FAULTS),
        );
        world.hosts[1].set("tcp_ecn", "1");
        for (i, scheme) in scheme::REGISTRY.all().enumerate() {
            // A kernel does not negotiate ECN with a SYN that has ECT.
            let config = config("linux", Some(scheme.name), &[("ect", "data")]).unwrap();
            let each = megabytes() * 1_000_000 / 6 / PARALLEL as u64;
            for direction in [TransferDirection::Up, TransferDirection::Down] {
                world.transfer(
                    scheme.name,
                    (0, i % 2 == 1),
                    &config,
                    &bytes(direction, PARALLEL, each),
                );
            }
        }
        let (report, ours) = world.end();
        let marks: u64 = report.ports.iter().map(|p| p.served.marks).sum();
        assert!(marks > 0 && ours[0].packets.bad_checksum > 0);
    });
}
