//! Sockets that use a twin, in all network namespaces, with the state of its rules.

use std::fs::metadata;
use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::MetadataExt as _;

use libbpf_rs::{Iter, Link};

use super::namespaces::in_each;
use super::{kernel, objects};
use crate::error::KernelError;
use crate::view::SocketView;

/// Size of `struct lt_socket` in `kernel/sockets.bpf.c`.
const RECORD: usize = SENDER + 100;

/// Offset of `struct lt_sender` in it.
const SENDER: usize = 88;

/// `ssthresh` before the first reaction (`LT_UNLIMITED`).
const UNLIMITED: u32 = u32::MAX;

/// Bits of `ecn_flags` (`TCP_ECN_MODE_RFC3168`, `TCP_ECN_MODE_ACCECN`); both: not negotiated yet.
const RFC3168: u32 = 1;
const ACCECN: u32 = 16;

/// States of `enum` in `include/net/tcp_states.h`.
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

impl SocketView {
    /// Decodes one `struct lt_socket` of the network namespace `netns`.
    fn decode(record: &[u8], netns: u64) -> Option<Self> {
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
        let fell_back = word(84)? != 0;
        // The memory of a socket that fell back is not that of the rules.
        let rule = |at: usize| Some(if fell_back { 0 } else { word(SENDER + at)? });
        let ssthresh = rule(4)?;
        Some(Self {
            netns,
            control: String::from_utf8_lossy(name).into_owned(),
            state,
            local: SocketAddr::new(address(24)?, word(56)? as u16),
            remote: SocketAddr::new(address(40)?, word(60)? as u16),
            snd_cwnd: word(64)?,
            srtt_us: word(68)? / 8,
            ecn: match word(72)? {
                RFC3168 => "rfc3168",
                ACCECN => "accecn",
                0 => "off",
                _ => "pending",
            },
            delivered: word(76)?,
            delivered_ce: word(80)?,
            fell_back,
            cwnd: rule(0)?,
            ssthresh: (ssthresh != UNLIMITED && !fell_back).then_some(ssthresh),
            alpha: f64::from(rule(40)?) / f64::from(1 << 20),
            cuts: rule(68)?,
            marked_acks: rule(72)?,
            leaps: rule(88)?,
        })
    }
}

/// Lists the sockets that use a twin. Its program is loaded once, which takes most of the time of a
/// list.
#[derive(Debug)]
pub struct SocketReader {
    link: Link,
}

impl SocketReader {
    /// Loads the program.
    ///
    /// # Errors
    /// The binary has no programs, the kernel has no BTF, or the process may not list sockets.
    pub fn open() -> Result<Self, KernelError> {
        kernel::check("listing sockets")?;
        let object = objects::open("sockets", objects::SOCKETS, None, false)?;
        let program = object.progs_mut().next().ok_or(KernelError::NotBuilt)?;
        Ok(Self { link: program.attach().map_err(|e| objects::refused("sockets", &e))? })
    }

    /// Returns all sockets that use a twin, in all network namespaces that have a name or a
    /// process.
    ///
    /// # Errors
    /// The process may not list sockets.
    pub fn read(&self) -> Result<Vec<SocketView>, KernelError> {
        let all = in_each(|| self.this_namespace())?;
        let mut out: Vec<SocketView> = all.into_iter().flatten().collect();
        out.sort_by_key(|s| (s.control.clone(), s.netns, s.local, s.remote));
        Ok(out)
    }

    /// Returns the sockets of the calling thread's network namespace.
    fn this_namespace(&self) -> Result<Vec<SocketView>, KernelError> {
        let mut records = Vec::new();
        let mut iterator = Iter::new(&self.link).map_err(|e| objects::refused("sockets", &e))?;
        iterator.read_to_end(&mut records).map_err(|e| KernelError::io("sockets", e))?;
        let own = "/proc/thread-self/ns/net";
        let netns = metadata(own).map_err(|e| KernelError::io(own, e))?.ino();
        Ok(records.chunks_exact(RECORD).filter_map(|r| SocketView::decode(r, netns)).collect())
    }
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
        word(72, ACCECN);
        word(76, 1000);
        word(80, 100);
        word(SENDER + 68, 7);
        word(SENDER + 72, 90);
        word(SENDER + 88, 3);
        record
    }

    #[test]
    fn a_record_of_the_kernel_is_decoded() {
        let socket = SocketView::decode(&record(), 7).unwrap();
        assert_eq!(socket.netns, 7);
        assert_eq!((socket.control.as_str(), socket.state), ("lt_dctcp", "established"));
        assert_eq!(socket.local, "10.0.0.1:40000".parse().unwrap());
        assert_eq!(socket.remote, "10.0.0.2:80".parse().unwrap());
        assert_eq!((socket.snd_cwnd, socket.cwnd, socket.ssthresh), (12, 12_000, None));
        assert_eq!((socket.alpha, socket.srtt_us), (0.5, 250));
        assert_eq!((socket.cuts, socket.marked_acks, socket.leaps), (7, 90, 3));
        assert_eq!((socket.ecn, socket.delivered, socket.delivered_ce), ("accecn", 1000, 100));
        let mut fell_back = record();
        fell_back[84] = 1;
        let socket = SocketView::decode(&fell_back, 7).unwrap();
        assert_eq!((socket.fell_back, socket.cwnd, socket.cuts), (true, 0, 0));
        assert_eq!(SocketView::decode(&record()[..RECORD - 1], 7).map(|s| s.cuts), Some(7));
        assert_eq!(SocketView::decode(&[0; 20], 7), None);
    }
}
