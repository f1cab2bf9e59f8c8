//! Sockets that use a twin, in all network namespaces, with the state of its rules.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::error::KernelError;

/// One socket that uses a twin.
#[derive(Clone, PartialEq, Debug)]
pub struct SocketView {
    /// Name of its control.
    pub control: String,
    /// State of the connection; `listen` for a listener, which has no window.
    pub state: &'static str,
    /// Local address and port.
    pub local: SocketAddr,
    /// Remote address and port.
    pub remote: SocketAddr,
    /// Window in segments, as the kernel has it.
    pub snd_cwnd: u32,
    /// Window in bytes, as the rules have it.
    pub cwnd: u32,
    /// Slow-start threshold in bytes; `None` before the first reaction.
    pub ssthresh: Option<u32>,
    /// DCTCP's alpha, 0 to 1.
    pub alpha: f64,
    /// ECN cuts so far.
    pub cuts: u32,
    /// ACKs with ECE so far.
    pub marked_acks: u32,
    /// Smoothed round-trip time, in microseconds.
    pub srtt_us: u32,
}

/// Size of `struct lt_socket` in `kernel/sockets.bpf.c`.
#[cfg(any(feature = "objects", test))]
const RECORD: usize = SENDER + 96;

/// Offset of `struct lt_sender` in it.
#[cfg(any(feature = "objects", test))]
const SENDER: usize = 72;

/// `ssthresh` before the first reaction (`LT_UNLIMITED`).
#[cfg(any(feature = "objects", test))]
const UNLIMITED: u32 = u32::MAX;

/// States of `enum` in `include/net/tcp_states.h`.
#[cfg(any(feature = "objects", test))]
const STATES: [&str; 13] = [
    "unknown",
    "established",
    "syn-sent",
    "syn-received",
    "fin-wait-1",
    "fin-wait-2",
    "time-wait",
    "close",
    "close-wait",
    "last-ack",
    "listen",
    "closing",
    "new-syn-received",
];

#[cfg(any(feature = "objects", test))]
impl SocketView {
    /// Decodes one `struct lt_socket`.
    fn decode(record: &[u8]) -> Option<Self> {
        let word = |at: usize| {
            let bytes: [u8; 4] = record.get(at..at + 4)?.try_into().ok()?;
            Some(u32::from_ne_bytes(bytes))
        };
        let family = word(20)?;
        let address = |at: usize| -> Option<IpAddr> {
            let bytes: [u8; 16] = record.get(at..at + 16)?.try_into().ok()?;
            Some(if family == 2 {
                IpAddr::V4(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]))
            } else {
                IpAddr::V6(Ipv6Addr::from(bytes))
            })
        };
        let name = record.get(..16)?.split(|byte| *byte == 0).next()?;
        let state = STATES.get(word(16)? as usize).copied().unwrap_or(STATES[0]);
        let (cwnd, ssthresh) = (word(SENDER)?, word(SENDER + 4)?);
        Some(Self {
            control: String::from_utf8_lossy(name).into_owned(),
            state,
            local: SocketAddr::new(address(24)?, word(56)? as u16),
            remote: SocketAddr::new(address(40)?, word(60)? as u16),
            snd_cwnd: word(64)?,
            srtt_us: word(68)? / 8,
            cwnd,
            ssthresh: (ssthresh != UNLIMITED).then_some(ssthresh),
            alpha: f64::from(word(SENDER + 40)?) / f64::from(1 << 20),
            cuts: word(SENDER + 80)?,
            marked_acks: word(SENDER + 84)?,
        })
    }
}

/// Returns all sockets that use a twin, in all network namespaces that have a name or a process.
///
/// # Errors
/// The binary has no programs, or the process may not list sockets.
pub fn sockets() -> Result<Vec<SocketView>, KernelError> {
    all_namespaces()
}

#[cfg(not(feature = "objects"))]
fn all_namespaces() -> Result<Vec<SocketView>, KernelError> {
    Err(KernelError::NotBuilt)
}

#[cfg(feature = "objects")]
fn all_namespaces() -> Result<Vec<SocketView>, KernelError> {
    let mut out = Vec::new();
    for namespace in namespaces() {
        // A separate thread: one that entered another namespace cannot be used again.
        let found = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                nix::sched::setns(&namespace, nix::sched::CloneFlags::CLONE_NEWNET)
                    .map_err(|_| KernelError::NotPermitted { operation: "entering a namespace" })?;
                this_namespace()
            });
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        out.extend(found?);
    }
    out.sort_by_key(|s| (s.control.clone(), s.local, s.remote));
    Ok(out)
}

/// Returns every network namespace that a process or a name below `/run/netns` holds, once.
#[cfg(feature = "objects")]
fn namespaces() -> Vec<std::fs::File> {
    use std::collections::BTreeSet;
    use std::fs::{File, read_dir};
    use std::os::unix::fs::MetadataExt as _;
    use std::path::PathBuf;

    let paths = |folder: &str| -> Vec<PathBuf> {
        let entries = read_dir(folder).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
    };
    let processes = paths("/proc").into_iter().map(|process| process.join("ns/net"));
    let own = PathBuf::from("/proc/self/ns/net");
    let all = std::iter::once(own).chain(processes).chain(paths("/run/netns"));
    let mut seen = BTreeSet::new();
    all.filter_map(|path| {
        let file = File::open(path).ok()?;
        let meta = file.metadata().ok()?;
        seen.insert((meta.dev(), meta.ino())).then_some(file)
    })
    .collect()
}

/// Returns the sockets of the calling thread's network namespace.
#[cfg(feature = "objects")]
fn this_namespace() -> Result<Vec<SocketView>, KernelError> {
    use std::io::Read as _;

    use crate::objects;

    let object = objects::open("sockets", objects::SOCKETS, None)?;
    let refused = |error: libbpf_rs::Error| KernelError::Refused {
        name: "sockets".to_owned(),
        reason: format!("{error:#}"),
    };
    let program = object.progs_mut().next().ok_or(KernelError::NotBuilt)?;
    let link = program.attach().map_err(refused)?;
    let mut records = Vec::new();
    let mut iterator = libbpf_rs::Iter::new(&link).map_err(refused)?;
    iterator.read_to_end(&mut records).map_err(|e| KernelError::io("sockets", e))?;
    Ok(records.chunks_exact(RECORD).filter_map(SocketView::decode).collect())
}

/// Name, type, description and value of a metric.
type Metric = (&'static str, &'static str, &'static str, fn(&SocketView) -> f64);

/// Returns metrics of these sockets in the Prometheus text format.
pub fn prometheus(sockets: &[SocketView]) -> String {
    let mut out = String::new();
    let metrics: [Metric; 6] = [
        ("alpha", "gauge", "DCTCP's estimate of the marked share, 0 to 1.", |s| s.alpha),
        ("cwnd_bytes", "gauge", "Congestion window.", |s| f64::from(s.cwnd)),
        ("cuts_total", "counter", "Window cuts because of ECN.", |s| f64::from(s.cuts)),
        ("ece_acks_total", "counter", "ACKs with ECE.", |s| f64::from(s.marked_acks)),
        ("srtt_seconds", "gauge", "Smoothed round-trip time.", |s| f64::from(s.srtt_us) / 1e6),
        ("ssthresh_bytes", "gauge", "Slow-start threshold; +Inf before the first reaction.", |s| {
            s.ssthresh.map_or(f64::INFINITY, f64::from)
        }),
    ];
    for (name, kind, help, value) in metrics {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "# HELP lowtide_tcp_{name} {help}\n# TYPE lowtide_tcp_{name} {kind}");
        for socket in sockets.iter().filter(|socket| socket.state != "listen") {
            let value = value(socket);
            let value = if value == f64::INFINITY { "+Inf".to_owned() } else { value.to_string() };
            let _ = writeln!(
                out,
                "lowtide_tcp_{name}{{control=\"{}\",local=\"{}\",remote=\"{}\"}} {value}",
                socket.control, socket.local, socket.remote
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Vec<u8> {
        let mut record = vec![0; RECORD];
        record[..8].copy_from_slice(b"lt_dctcp");
        let mut word = |at: usize, value: u32| {
            record[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        };
        word(16, 1);
        word(20, 2);
        word(24, u32::from_ne_bytes([10, 0, 0, 1]));
        word(40, u32::from_ne_bytes([10, 0, 0, 2]));
        word(56, 40_000);
        word(60, 80);
        word(64, 12);
        word(68, 8 * 250);
        word(SENDER, 12_000);
        word(SENDER + 4, u32::MAX);
        word(SENDER + 40, 1 << 19);
        word(SENDER + 80, 7);
        word(SENDER + 84, 90);
        record
    }

    #[test]
    fn a_record_of_the_kernel_is_decoded() {
        let socket = SocketView::decode(&record()).unwrap();
        assert_eq!((socket.control.as_str(), socket.state), ("lt_dctcp", "established"));
        assert_eq!(socket.local, "10.0.0.1:40000".parse().unwrap());
        assert_eq!(socket.remote, "10.0.0.2:80".parse().unwrap());
        assert_eq!((socket.snd_cwnd, socket.cwnd, socket.ssthresh), (12, 12_000, None));
        assert_eq!((socket.alpha, socket.srtt_us), (0.5, 250));
        assert_eq!((socket.cuts, socket.marked_acks), (7, 90));
        assert_eq!(SocketView::decode(&record()[..RECORD - 1]).map(|s| s.cuts), Some(7));
        assert_eq!(SocketView::decode(&[0; 20]), None);
    }

    #[test]
    fn metrics_have_help_type_and_one_line_a_socket() {
        let text = prometheus(&[SocketView::decode(&record()).unwrap()]);
        let line = "lowtide_tcp_alpha{control=\"lt_dctcp\",local=\"10.0.0.1:40000\",\
                    remote=\"10.0.0.2:80\"} 0.5";
        assert!(text.lines().any(|l| l == line), "{text}");
        assert!(text.contains("lowtide_tcp_ssthresh_bytes{") && text.contains("} +Inf"), "{text}");
        assert_eq!(text.lines().filter(|l| l.starts_with("# TYPE")).count(), 6);
    }
}
