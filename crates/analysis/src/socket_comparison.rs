//! A sender's socket beside the capture of its data.
//!
//! Contract: sockets are matched by both addresses and ports, and compared by shares of time
//! (`tcp_info`: `tcpi_busy_time`, `tcpi_rwnd_limited`, `tcpi_sndbuf_limited`). A snapshot of
//! another time than the capture's is named, not compared.

use super::budget::State;
use super::direction::DirectionReport;
use super::format::{count, grouped, percent, time};
use super::socket_statistics::{Socket, SocketStatistics, SocketWitness};

/// Difference of two shares that agree, points; the kernel's clock ticks are up to 10 ms.
const POINTS: f64 = 10.0;
const TICK_NS: u64 = 10_000_000;

impl SocketStatistics {
    /// Compares the socket of the sender of `d`; the kernel counts `handshake_again` segments of
    /// its handshake as retransmissions too.
    pub(super) fn witness(
        &self,
        d: &DirectionReport,
        handshake_again: u64,
    ) -> Option<SocketWitness> {
        let (from, to) = (d.from.parse().ok()?, d.to.parse().ok()?);
        let socket = self.0.get(&(from, to))?.clone();
        Some(socket.compare(d, handshake_again))
    }
}

impl Socket {
    fn compare(self, d: &DirectionReport, handshake_again: u64) -> SocketWitness {
        let (acked, seen) = (self.acked_bytes.unwrap_or(0), d.acked_bytes);
        let all: u64 = d.budget.iter().map(|s| s.ns).sum();
        let too_busy = self.busy_ns.filter(|busy| *busy > all.saturating_add(TICK_NS));
        let older = acked / 9 < seen / 10 && seen > 0;
        let unknown = self.acked_bytes.is_none();
        let longer = acked / 11 > seen / 10 || too_busy.is_some();
        let name = self.congestion_control.as_deref().unwrap_or("congestion control unknown");
        let show =
            |n: Option<u64>| n.map_or_else(|| "none".to_owned(), |n| format!("{n} segments"));
        let mut lines = vec![format!(
            "{name}, cwnd {}, ssthresh {} at the last of {}",
            show(self.cwnd_segments),
            show(self.ssthresh_segments),
            count(self.snapshots, "snapshot")
        )];
        if longer {
            let busy = self.busy_ns.map_or_else(|| "unknown".to_owned(), time);
            lines.push(format!(
                "of another time: busy {busy} and {} bytes acknowledged, the capture has {} and {}",
                grouped(acked),
                time(all),
                grouped(seen)
            ));
            return SocketWitness { socket: self, covered_percent: None, lines };
        }
        if unknown {
            lines.push(
                "it has no bytes acknowledged: its part of the capture is unknown".to_owned(),
            );
        } else if older {
            lines.push(format!(
                "it is of the first {} of the bytes acknowledged in the capture",
                percent(acked, seen)
            ));
        }
        let again = d.retransmitted_segments + d.fin_retransmissions + handshake_again;
        let verdict = match (self.retransmissions, older) {
            (n, _) if n > again => "disagree, not all are in the capture",
            (n, _) if n == again => "agree",
            (_, true) => "possible, as it is older",
            (_, false) => "disagree, or some came after the snapshot",
        };
        lines.push(format!(
            "{} by the socket, {} by the capture: {verdict}",
            count(self.retransmissions, "retransmission"),
            grouped(again)
        ));
        if let Some(busy) = self.busy_ns.filter(|busy| *busy > 0) {
            self.compare_times(d, (busy, all), !older, &mut lines);
        }
        let covered_percent =
            (!unknown).then(|| acked.min(seen) as f64 / seen.max(1) as f64 * 100.0);
        SocketWitness { socket: self, covered_percent, lines }
    }

    /// Compares the states that `tcp_info` has.
    fn compare_times(
        &self,
        d: &DirectionReport,
        (busy, all): (u64, u64),
        same_time: bool,
        lines: &mut Vec<String>,
    ) {
        let share = |state| d.budget.iter().find(|s| s.state == state);
        let values = |state| {
            share(state).map_or([0.0; 3], |s| [s.percent, s.certain_percent, s.possible_percent])
        };
        let mut line = |what: &str, socket: f64, [is, low, high]: [f64; 3]| {
            let verdict = match socket {
                _ if (socket - is).abs() <= POINTS => "agree",
                _ if socket >= low - POINTS && socket <= high + POINTS => "possible",
                _ => "disagree",
            };
            lines.push(format!(
                "{what}: {socket:.0} % of the time by the socket, {is:.0} % ({low:.0} to \
                 {high:.0}) by the capture: {verdict}"
            ));
        };
        // Of the whole time if both have it, else of the busy time.
        let of = |ns: u64, all: u64| ns as f64 / all.max(1) as f64 * 100.0;
        let [mut window, zero] = [State::ReceiveWindow, State::ZeroWindow].map(values);
        window.iter_mut().zip(zero).for_each(|(all, part)| *all = (*all + part).min(100.0));
        if same_time {
            line("receive window", of(self.rwnd_limited_ns, all), window);
            let handshake = share(State::Handshake).map_or(0, |s| s.ns);
            let idle = all.saturating_sub(handshake.saturating_add(busy));
            line(
                "no data offered",
                of(idle.saturating_add(self.sndbuf_limited_ns), all),
                values(State::NoData),
            );
        } else {
            let idle = share(State::NoData).map_or(0, |s| s.ns);
            let scale = 100.0 / of(all.saturating_sub(idle).max(1), all);
            let window = window.map(|share| (share * scale).min(100.0));
            line("receive window while busy", of(self.rwnd_limited_ns, busy), window);
        }
        if self.sndbuf_limited_ns > 0 {
            let (part, ns) = (percent(self.sndbuf_limited_ns, busy), time(self.sndbuf_limited_ns));
            lines.push(format!("send buffer: {part} of its busy time by the socket ({ns})"));
        }
    }
}
