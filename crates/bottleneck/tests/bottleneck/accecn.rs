//! Accurate ECN between our TCP and the kernel's: the CE marks that the path sets, beside the
//! counts of both ends. The kernel's are those of its `tcp_info`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use lowtide_bottleneck::{BottleneckSettings, Faults};
use lowtide_live::config;
use lowtide_net::HostId;
use lowtide_tcp::EcnMode;
use lowtide_units::Duration;
use nix::sys::socket::getsockopt;

use crate::world::{HostStack, PORT, World, address, network, short_sleep, with_timeout};

/// `struct tcp_info` of Linux 7.0 and later.
mod option {
    use nix::libc;
    use nix::{getsockopt_impl, sockopt_impl};

    sockopt_impl!(
        /// State of a connection of the kernel.
        TcpInfo, GetOnly, libc::IPPROTO_TCP, libc::TCP_INFO, [u8; 280]
    );
}

/// Bytes of a transfer.
const BYTES: usize = 600_000;
/// A longer handshake had a loss: both ends give up options, or Accurate ECN.
const HANDSHAKE: Duration = Duration::from_ms(500);
/// Time after which nothing of a transfer is on its way.
const QUIET: std::time::Duration = std::time::Duration::from_millis(50);
/// Tries of a case, with other seeds, until a handshake has no loss.
const TRIES: u64 = 10;

/// Host numbers: ours and the kernel's.
const OURS: usize = 0;
const KERNEL: usize = 1;

/// A path, and settings of our end.
struct PathCase {
    name: &'static str,
    /// Faults of the packets of the sender of data, and of its receiver.
    data: &'static [&'static str],
    acks: &'static [&'static str],
    ours: &'static [(&'static str, &'static str)],
}

const fn path(
    name: &'static str,
    data: &'static [&'static str],
    acks: &'static [&'static str],
) -> PathCase {
    PathCase { name, data, acks, ours: &[] }
}

const BLEACHED: &str = "bleached";
const BLEACHED_LOST: &str = "bleached, 30 % of the ACKs lost";
const ACKS_LOST: &str = "CE 5 %, 30 % of the ACKs lost";

/// Our receiver acknowledges 16 segments at a time.
const STRETCHED: &[(&str, &str)] = &[("delack-segments", "16")];

const CASES: [PathCase; 12] = [
    path("no CE", &[], &[]),
    path("CE 1 %", &["ce=1%"], &[]),
    path("CE 5 %", &["ce=5%"], &[]),
    path("CE 100 %", &["ce=100%"], &[]),
    path(BLEACHED, &["bleach=100%", "ce=5%"], &[]),
    path(ACKS_LOST, &["ce=5%"], &["loss=30%"]),
    path(BLEACHED_LOST, &["bleach=100%", "ce=5%"], &["loss=30%"]),
    path("CE 5 %, 5 % of the data 3 ms late", &["ce=5%", "reorder=5%/3ms"], &[]),
    path("CE 5 %, 20 % of the ACKs 3 ms late", &["ce=5%"], &["reorder=20%/3ms"]),
    path("CE 5 %, 1 % of the data lost", &["ce=5%", "loss=1%"], &[]),
    PathCase { ours: STRETCHED, ..path("CE 5 %, our ACKs of 16 segments", &["ce=5%"], &[]) },
    PathCase { ours: STRETCHED, ..path("no CE, our ACKs of 16 segments", &[], &[]) },
];

/// Counts of an end of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Counts {
    packets: u64,
    bytes: u64,
}

/// Counts of a run.
#[derive(Debug)]
struct Measured {
    /// Packets on which the path set CE.
    set: u64,
    received: Counts,
    /// By the sender.
    counted: Counts,
}

/// The 32 bits of `tcp_info` at an offset.
fn word(info: &[u8; 280], at: usize) -> u64 {
    u64::from(u32::from_ne_bytes(info[at..at + 4].try_into().unwrap()))
}

fn tcp_info(stream: &TcpStream) -> [u8; 280] {
    getsockopt(stream, option::TcpInfo).unwrap()
}

/// Sends [`BYTES`] to `receiver`, which reads them all.
fn send(mut sender: impl Write + Send, mut receiver: impl Read) {
    std::thread::scope(|scope| {
        scope.spawn(move || sender.write_all(&vec![7; BYTES]).unwrap());
        receiver.read_exact(&mut vec![0; BYTES]).unwrap();
    });
}

/// Transfers data from one end to the other until all is acknowledged. `None` if the handshake had
/// a loss.
fn transfer(sender: usize, case: &PathCase, set: &[(&str, &str)], seed: u64) -> Option<Measured> {
    let faults = |texts: &[&str]| {
        let mut faults = Faults::default();
        for text in texts {
            faults.set(text).unwrap();
        }
        faults
    };
    let of_host = |host| faults(if host == sender { case.data } else { case.acks });
    let settings = BottleneckSettings {
        seed,
        faults: [OURS, KERNEL].map(|host| (HostId(host as u32), of_host(host))).to_vec(),
        ..BottleneckSettings::default()
    };
    let stacks = [HostStack::Lowtide, HostStack::Kernel];
    let world = World::new(stacks, &network("20 Mbit/s", 1_000, 1_000, 1_000), &settings);
    world.hosts[KERNEL].set("tcp_ecn", "3");
    let listener = world.hosts[KERNEL].server();
    let keys = [&[("ecn", "accecn")], case.ours, set].concat();
    let config = config("linux-7.2", None, &keys).unwrap();
    let to = SocketAddr::new(address(KERNEL, false), PORT);
    let began = world.bottleneck.now();
    let ours = world.hosts[OURS].live().connect(to, &config).unwrap();
    let kernel = listener.accept().unwrap().0;
    let is_repeated = world.bottleneck.now() > began + HANDSHAKE;
    if is_repeated || ours.info().unwrap().tcp.ecn != EcnMode::AccEcn {
        return None;
    }
    if sender == OURS {
        send(&ours, &kernel);
        while ours.unacknowledged() > 0 {
            short_sleep();
        }
    } else {
        send(&kernel, &ours);
        // `tcpi_unacked` and `tcpi_notsent_bytes`.
        while [24, 144].iter().any(|at| word(&tcp_info(&kernel), *at) > 0) {
            short_sleep();
        }
    }
    // Copies of data may still be on their way.
    std::thread::sleep(QUIET);
    let set = world.bottleneck.report().hosts[sender].faults.ce;
    let info = || ours.info().unwrap().tcp;
    let received = if sender == OURS {
        // `tcpi_received_ce` and `tcpi_received_ce_bytes`.
        let theirs = tcp_info(&kernel);
        Counts { packets: word(&theirs, 248), bytes: word(&theirs, 272) }
    } else {
        Counts { packets: info().received_ce_pkts, bytes: info().received_ce_bytes }
    };
    // A byte on the way back arrives for certain, and with it the last counters.
    let counted = if sender == OURS {
        (&kernel).write_all(&[7]).unwrap();
        (&ours).read_exact(&mut [0]).unwrap();
        let counters = info().counters;
        Counts { packets: counters.delivered_ce_segs, bytes: counters.delivered_ce_bytes }
    } else {
        (&ours).write_all(&[7]).unwrap();
        (&kernel).read_exact(&mut [0]).unwrap();
        // `tcpi_delivered_ce` and `tcpi_delivered_ce_bytes`.
        let theirs = tcp_info(&kernel);
        Counts { packets: word(&theirs, 196), bytes: word(&theirs, 260) }
    };
    Some(Measured { set, received, counted })
}

impl Measured {
    /// The last counter has arrived, so the count is right modulo 8 whatever was assumed about
    /// wraps. With clear options it is right. Data may be lost, or arrive twice if ACKs are lost:
    /// by RFC 9768 a copy does not count.
    fn is_right(&self, case: &PathCase, is_clear: bool) -> bool {
        let mut faults = case.data.iter().chain(case.acks);
        let is_lossy = faults.any(|fault| fault.starts_with("loss"));
        let (set, received, counted) = (self.set, self.received, self.counted);
        (received.packets == set || (is_lossy && received.packets < set))
            && counted.packets % 8 == received.packets % 8
            && (counted == received || !is_clear)
    }
}

fn measure(sender: usize, case: &PathCase, set: &[(&str, &str)]) -> Measured {
    let agreed = (0..TRIES).find_map(|seed| transfer(sender, case, set, seed));
    agreed.unwrap_or_else(|| panic!("{}: no Accurate ECN in {TRIES} tries", case.name))
}

/// Settings of our end.
struct Form {
    name: &'static str,
    set: &'static [(&'static str, &'static str)],
    /// Our end reads and sends options.
    has_options: bool,
    /// Only the cases in which ACKs are missing or say nothing.
    is_short: bool,
}

const FORMS: [Form; 4] = {
    const fn form(
        name: &'static str,
        set: &'static [(&'static str, &'static str)],
        has_options: bool,
        is_short: bool,
    ) -> Form {
        Form { name, set, has_options, is_short }
    }
    const RULES: (&str, &str) = ("accecn-rules", "rfc9768");
    const NONE: (&str, &str) = ("accecn-option", "disabled");
    [
        form("options", &[], true, false),
        form("no options", &[NONE], false, false),
        form("options, rfc9768", &[RULES], true, true),
        form("no options, rfc9768", &[NONE, RULES], false, true),
    ]
};

pub(crate) fn marks_are_counted_in_both_directions() {
    with_timeout(|| {
        let mut wrong = Vec::new();
        for (sender, who) in [(OURS, "we send"), (KERNEL, "the kernel sends")] {
            for form in FORMS {
                let wanted = |case: &&PathCase| {
                    (!form.is_short || [BLEACHED, BLEACHED_LOST, ACKS_LOST].contains(&case.name))
                        && (sender == KERNEL || case.ours.is_empty())
                };
                for case in CASES.iter().filter(wanted) {
                    let measured = measure(sender, case, form.set);
                    let what = format!("{who}, {}, {}: {measured:?}", form.name, case.name);
                    eprintln!("{what}");
                    // Without any marks no option is clear to Linux, so long ACKs are wraps.
                    let is_clear = case.name != BLEACHED_LOST || (sender == OURS && form.is_short);
                    if !measured.is_right(case, form.has_options && is_clear) {
                        wrong.push(what);
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    });
}
