//! The kernel's TCP and lowtide's, both and each other's sender and receiver, while packets are lost, repeated, damaged
//! and out of order: every byte comes, whatever was negotiated.

use lowtide_live::config;
use lowtide_live::load::TransferDirection;
use lowtide_tcp::EcnMode;
use lowtide_tcp::scheme::SCHEMES;

use crate::world::{
    HostStack, World, bytes, faults_in_both_directions, megabytes, network, with_timeout,
};

/// Connections at a time: their timeouts pass together.
const PARALLEL: usize = 6;

/// What a kernel is set to, and what ours is.
struct PairCase {
    name: &'static str,
    kernel: &'static [(&'static str, &'static str)],
    ours: &'static [(&'static str, &'static str)],
    /// ECN of connections that the first host opens, and of those that the second opens.
    ecn: Option<[EcnMode; 2]>,
}

const fn setting(
    name: &'static str,
    kernel: &'static [(&'static str, &'static str)],
    ours: &'static [(&'static str, &'static str)],
) -> PairCase {
    PairCase { name, kernel, ours, ecn: None }
}

/// Each `tcp_ecn` (0 off, 1 on, 2 passive) against each ECN of ours, ours being the first host.
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
    setting("no sack there", &[("tcp_sack", "0")], &[]),
    setting("no sack here", &[], &[("sack", "false")]),
    setting("no timestamps there", &[("tcp_timestamps", "0")], &[]),
    setting("no timestamps here", &[], &[("timestamps", "false")]),
    setting("no scaling there", &[("tcp_window_scaling", "0")], &[]),
    setting("no scaling here", &[], &[("window-scaling", "false")]),
    setting(
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

/// What goes wrong, both ways at once.
const FAULTS: [&str; 4] = ["loss=0.5 %", "reorder=1 %/300us", "duplicate=1 %", "corrupt=0.5 %"];

/// Data both ways over connections that either host opens.
fn run(whose: [HostStack; 2], setting: &PairCase, v6: bool) {
    let what = format!("{} {whose:?} v6 {v6}", setting.name);
    let world =
        World::new(whose, &network("1 Gbit/s", 50, 100, 20), &faults_in_both_directions(&FAULTS));
    let base: &[(&str, &str)] = &[("ecn", "rfc3168")];
    let config = config("linux", None, &[base, setting.ours].concat()).unwrap();
    for end in &world.hosts {
        end.set("tcp_ecn", "1");
        for (name, value) in setting.kernel {
            end.set(name, value);
        }
    }
    let each = megabytes() * 1_000_000 / 4 / PARALLEL as u64;
    let mut modes = Vec::new();
    for client in [0, 1] {
        for way in [TransferDirection::Up, TransferDirection::Down] {
            let load = bytes(way, PARALLEL, each);
            let (report, served) = world.transfer(&what, (client, v6), &config, &load);
            let all = report.streams.iter().chain(&served);
            modes.push(all.filter_map(|s| s.info).map(|i| i.tcp.ecn).collect::<Vec<_>>());
        }
    }
    if let (Some(want), true) = (setting.ecn, whose.contains(&HostStack::Lowtide)) {
        for (seen, want) in modes.chunks(2).zip(want) {
            // A SYN that was lost may be sent again without ECN (RFC 3168 §6.1.1.1).
            let agreed = seen.iter().flatten().filter(|mode| **mode == want).count();
            let fell_back = seen.iter().flatten().all(|mode| [want, EcnMode::Off].contains(mode));
            assert!(fell_back && agreed > PARALLEL, "{what}: {modes:?}");
        }
    }
    let (report, ours) = world.end();
    // What was done to packets was done, and noticed.
    let lost: u64 = report.ports.iter().map(|p| p.stats.lost).sum();
    let faults = |f: fn(&lowtide_bottleneck::FaultCounts) -> u64| -> u64 {
        report.hosts.iter().map(|h| f(&h.faults)).sum()
    };
    let done = [lost, faults(|f| f.reordered), faults(|f| f.duplicated), faults(|f| f.corrupted)];
    assert!(done.iter().all(|n| *n > 0), "{what}: {done:?}");
    for stats in ours {
        let noticed = stats.packets.bad_checksum + stats.packets.malformed;
        assert!(noticed > 0 && noticed <= done[3], "{what}: {noticed} of {done:?}");
    }
    let marks: u64 = report.ports.iter().map(|p| p.stats.marks).sum();
    eprintln!(
        "{what}: {} MB, {lost} lost, {} late, {} twice, {} damaged, {marks} marked",
        megabytes(),
        done[1],
        done[2],
        done[3]
    );
}

fn all(settings: &'static [PairCase], whose: [HostStack; 2]) {
    with_timeout(move || {
        for (i, setting) in settings.iter().enumerate() {
            run(whose, setting, i % 2 == 1);
        }
    });
}

pub(crate) fn ours_and_the_kernels_whatever_their_ecn() {
    all(&ECN, [HostStack::Lowtide, HostStack::Kernel]);
}

pub(crate) fn ours_and_the_kernels_whatever_their_options() {
    all(&OPTIONS, [HostStack::Lowtide, HostStack::Kernel]);
}

pub(crate) fn the_kernels_among_themselves() {
    const BOTH: [PairCase; 2] =
        [setting("plain", &[], &[]), setting("bare", &[("tcp_sack", "0")], &[])];
    all(&BOTH, [HostStack::Kernel, HostStack::Kernel]);
}

/// Every sender of ours to the kernel's receiver, and the kernel's sender to every receiver of ours.
pub(crate) fn every_scheme_of_ours_and_the_kernels_ecn() {
    with_timeout(|| {
        let plan = network("1 Gbit/s", 50, 100, 20);
        let world = World::new(
            [HostStack::Lowtide, HostStack::Kernel],
            &plan,
            &faults_in_both_directions(&FAULTS),
        );
        world.hosts[1].set("tcp_ecn", "1");
        for (i, scheme) in SCHEMES.iter().enumerate() {
            // A kernel refuses ECN to a SYN with ECT.
            let config = config("linux", Some(scheme.name), &[("ect", "data")]).unwrap();
            let each = megabytes() * 1_000_000 / 6 / PARALLEL as u64;
            for way in [TransferDirection::Up, TransferDirection::Down] {
                world.transfer(scheme.name, (0, i % 2 == 1), &config, &bytes(way, PARALLEL, each));
            }
        }
        let (report, ours) = world.end();
        let marks: u64 = report.ports.iter().map(|p| p.stats.marks).sum();
        assert!(marks > 0 && ours[0].packets.bad_checksum > 0);
    });
}
