//! Sockets by the output of `ss -tinO` or `ss -tin`: a second witness of the senders of a capture.
//!
//! Contract: counters are cumulative, so the last snapshot of a socket counts.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use serde::Serialize;

use super::format::{count, percent};

/// Words of `ss` before the name of the congestion control.
const FLAGS: [&str; 6] = ["ts", "sack", "ecn", "ecnseen", "fastopen", "mptcp"];

/// Sockets of one or more snapshots, by both ends.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SocketStatistics(pub(super) BTreeMap<(SocketAddr, SocketAddr), Socket>);

/// A socket at its last snapshot.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Socket {
    pub(super) local: SocketAddr,
    pub(super) peer: SocketAddr,
    pub(super) snapshots: u64,
    pub(super) congestion_control: Option<String>,
    pub(super) cwnd_segments: Option<u64>,
    /// Null if the socket never left its first slow start.
    pub(super) ssthresh_segments: Option<u64>,
    pub(super) busy_ns: Option<u64>,
    pub(super) rwnd_limited_ns: u64,
    pub(super) sndbuf_limited_ns: u64,
    pub(super) retransmissions: u64,
    pub(super) acked_bytes: Option<u64>,
}

/// A socket beside the capture of its data.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct SocketWitness {
    #[serde(flatten)]
    pub(super) socket: Socket,
    /// Its part of the bytes acknowledged in the capture; null if it is of another time.
    pub(super) covered_percent: Option<f64>,
    /// The values of both, and whether they agree.
    pub(super) lines: Vec<String>,
}

impl SocketStatistics {
    /// Reads the output of `ss`.
    ///
    /// # Errors
    /// It has no TCP socket, or none with the values of option `-i`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut all = BTreeMap::<_, Socket>::new();
        let mut current = None;
        for line in text.lines() {
            let mut words: Vec<&str> = line.split_whitespace().collect();
            if !line.starts_with(char::is_whitespace) {
                let ends = words.iter().map(|word| address(word)).collect::<Vec<_>>();
                let at = ends.windows(2).position(|pair| pair[0].is_some() && pair[1].is_some());
                current = at.and_then(|at| {
                    let (local, peer) = (ends[at]?, ends[at + 1]?);
                    words.drain(..at + 2);
                    let ends = (local, peer);
                    all.entry(ends).or_insert_with(|| Socket::new(local, peer)).snapshots += 1;
                    Some(ends)
                });
            }
            if let Some(socket) = current.and_then(|ends| all.get_mut(&ends)) {
                socket.read(&words);
            }
        }
        let need = "give the output of `ss -tinO` or `ss -tin`";
        match all.values().filter(|s| s.busy_ns.is_some() || s.cwnd_segments.is_some()).count() {
            _ if all.is_empty() => Err(format!("it has no socket; {need}")),
            0 => Err(format!("{} without values; {need}", count(all.len() as u64, "socket"))),
            _ => Ok(Self(all)),
        }
    }

    /// Returns the ends of sockets that are no `from` and `to` of `ends`.
    pub(super) fn absent(&self, ends: &[(SocketAddr, SocketAddr)]) -> Vec<String> {
        let ends: BTreeSet<_> = ends.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]).collect();
        let absent = self.0.iter().filter(|(own, _)| !ends.contains(own));
        absent.map(|(_, s)| format!("{} to {}", s.local, s.peer)).collect()
    }
}

impl Socket {
    const fn new(local: SocketAddr, peer: SocketAddr) -> Self {
        Self {
            local,
            peer,
            snapshots: 0,
            congestion_control: None,
            cwnd_segments: None,
            ssthresh_segments: None,
            busy_ns: None,
            rwnd_limited_ns: 0,
            sndbuf_limited_ns: 0,
            retransmissions: 0,
            acked_bytes: None,
        }
    }

    fn read(&mut self, words: &[&str]) {
        let start = words.iter().position(|w| w.starts_with("wscale:") || w.starts_with("rto:"));
        if start.is_some() {
            // `ss` leaves out what is zero, and another connection may have the same ends.
            let snapshots = self.snapshots;
            *self = Self { snapshots, ..Self::new(self.local, self.peer) };
        }
        let name = words[..start.unwrap_or(0)].last().filter(|w| !FLAGS.contains(w));
        if let Some(name) = name.filter(|name| !name.contains([':', ')'])) {
            self.congestion_control = Some((*name).to_owned());
        }
        for (key, value) in words.iter().filter_map(|w| w.split_once(':')) {
            let number = value.parse().ok();
            match key {
                "cwnd" => self.cwnd_segments = number,
                "ssthresh" => self.ssthresh_segments = number,
                "bytes_acked" => self.acked_bytes = number,
                "busy" => self.busy_ns = nanoseconds(value),
                "rwnd_limited" => self.rwnd_limited_ns = nanoseconds(value).unwrap_or(0),
                "sndbuf_limited" => self.sndbuf_limited_ns = nanoseconds(value).unwrap_or(0),
                // In flight, and in all.
                "retrans" => {
                    let all = value.split_once('/').and_then(|v| v.1.parse().ok());
                    self.retransmissions = all.unwrap_or(self.retransmissions);
                }
                _ => {}
            }
        }
    }
}

impl SocketWitness {
    /// Returns the reason why no data was offered, if the snapshot is of most of the data.
    pub(super) fn idle_by(&self) -> Option<String> {
        let busy = self.socket.busy_ns.filter(|_| self.covered_percent >= Some(50.0))?;
        let buffer = self.socket.sndbuf_limited_ns;
        Some(match buffer {
            0 => "the application: up to the last snapshot of `ss` the send buffer had not limited"
                .to_owned(),
            _ => format!(
                "the application, or the send buffer: {} of the busy time, by `ss`",
                percent(buffer, busy)
            ),
        })
    }
}

/// Reads `10.0.0.1:80`, `[2001:db8::1]:80`, `10.0.0.1%eth0:80` and `[::ffff:10.0.0.1]:80`.
fn address(word: &str) -> Option<SocketAddr> {
    let (host, port) = word.rsplit_once(':')?;
    let host = host.split_once('%').map_or(host, |(host, _)| host);
    let host: IpAddr = host.trim_start_matches('[').trim_end_matches(']').parse().ok()?;
    Some(SocketAddr::new(host.to_canonical(), port.parse().ok()?))
}

/// Reads `2036ms` and `988ms(97.2%)`.
fn nanoseconds(text: &str) -> Option<u64> {
    let text = text.split('(').next()?;
    let ms: f64 = text.strip_suffix("ms")?.parse().ok()?;
    Some((ms * 1e6) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two snapshots of IPv4 in one line each, IPv6 in two lines, a socket without values.
    const SS: &str = "\
State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
ESTAB 0      9      10.0.0.1%s0:569     [::ffff:10.0.0.2]:80 users:((\"a b\",pid=1,fd=3)) cubic \
wscale:0,10 rto:232 cwnd:33 bytes_acked:10 busy:1016ms rwnd_limited:988ms(97.2%)
ESTAB 0      9      10.0.0.1:569     10.0.0.2:80 ts sack cubic wscale:0,10 rto:232 cwnd:34 \
ssthresh:20 bytes_acked:20 retrans:0/6 busy:2036ms rwnd_limited:2008ms(98.6%)
ESTAB 0      9      [2001:db8::1]:22    [fe80::2]%eth0:8022
\t ts sack ecn bbr rto:201 cwnd:10 busy:8ms sndbuf_limited:4ms(50.0%)
TIME-WAIT 0  0      10.0.0.1:570     10.0.0.2:80
";

    #[test]
    fn sockets_are_read_from_one_and_two_lines_and_several_snapshots() {
        let SocketStatistics(all) = SocketStatistics::parse(SS).expect("sockets");
        let [first, third, second] = all.values().collect::<Vec<_>>()[..] else {
            panic!("{all:?}")
        };
        assert_eq!((first.snapshots, first.congestion_control.as_deref()), (2, Some("cubic")));
        assert_eq!((first.cwnd_segments, first.ssthresh_segments), (Some(34), Some(20)));
        assert_eq!((first.rwnd_limited_ns, first.retransmissions), (2_008_000_000, 6));
        assert_eq!(second.peer.to_string(), "[fe80::2]:8022");
        assert_eq!((second.sndbuf_limited_ns, second.busy_ns), (4_000_000, Some(8_000_000)));
        assert_eq!((second.congestion_control.as_deref(), third.busy_ns), (Some("bbr"), None));
        let ends = [("10.0.0.2:80", "10.0.0.1:569")]
            .map(|(a, b)| (a.parse().expect("an address"), b.parse().expect("an address")));
        assert_eq!(SocketStatistics(all).absent(&ends).len(), 2);
    }

    #[test]
    fn other_text_is_refused_with_the_command() {
        let why = SocketStatistics::parse("no sockets\n").expect_err("refused");
        assert_eq!(why, "it has no socket; give the output of `ss -tinO` or `ss -tin`");
        let plain = SS.lines().last().expect("a line");
        let why = SocketStatistics::parse(plain).expect_err("refused");
        assert!(why.starts_with("1 socket without values; give"), "{why}");
    }
}
