//! Fields of a kernel's connection that assertions can read, from `sock_diag`.

use lowtide_packetdrill::fields::{FieldValue, state_name};
use lowtide_tcp::{FourTuple, cc};
use lowtide_units::Duration;

use crate::kernel::diag::{self, u32_at, u64_at};

/// `TCP_INFINITE_SSTHRESH`.
const INFINITE: u64 = 0x7fff_ffff;
/// `TCP_CA_Recovery`.
const RECOVERY: u8 = 3;
/// `TCPI_OPT_ECN` of `tcpi_options`.
const OPTION_ECN: u8 = 8;
/// Linux's numbers of states.
const CLOSED: u8 = 7;
/// States after the peer's FIN: TIME_WAIT, CLOSE_WAIT, LAST_ACK, CLOSING.
const AFTER_FIN: [u8; 4] = [6, 8, 9, 11];

/// A connection as the kernel last showed it.
#[derive(Clone, Debug, Default)]
pub(super) struct KernelConn {
    state: u8,
    /// The host opened it.
    active: bool,
    /// `struct tcp_info`.
    raw: Vec<u8>,
    alpha_q20: Option<u64>,
    cc: String,
    pub(super) unread: Option<u64>,
}

impl KernelConn {
    pub(super) fn new(active: bool) -> Self {
        Self { active, ..Self::default() }
    }

    /// Asks the kernel; a connection that it no longer has is CLOSED.
    pub(super) fn update(&mut self, tuple: &FourTuple) {
        self.state = CLOSED;
        let family = if tuple.local.is_ipv4() { diag::AF_INET } else { diag::AF_INET6 };
        let found = diag::sockets(family).unwrap_or_default().into_iter().find(|s| {
            (s.local.ip(), s.local.port()) == (tuple.local, tuple.local_port)
                && (s.peer.ip(), s.peer.port()) == (tuple.remote, tuple.remote_port)
        });
        let Some(found) = found else { return };
        self.state = found.state;
        if !found.raw.is_empty() {
            (self.raw, self.alpha_q20, self.cc) = (found.raw, found.info.alpha_q20, found.info.cc);
        }
    }

    /// The value of a field; `None` if the kernel does not report it.
    pub(super) fn field(&self, name: &str) -> Option<FieldValue> {
        let n = |value: u64| FieldValue::Number(i128::from(value), 1);
        let byte = |at: usize| self.raw.get(at).copied().unwrap_or(0);
        let word = |at: usize| u32_at(&self.raw, at).map_or(0, u64::from);
        let wide = |at: usize| u64_at(&self.raw, at).unwrap_or(0);
        let us = |at: usize| match word(at) {
            0 | 0xffff_ffff => FieldValue::Absent,
            us => FieldValue::Time(Duration::from_us(us)),
        };
        let flag = |on: bool| FieldValue::Name(if on { "true" } else { "false" });
        let mss = word(16);
        let threshold = |unit: u64| match word(76) {
            INFINITE.. => FieldValue::Infinite,
            segments => n(segments * unit),
        };
        // As `tcp_packets_in_flight`.
        let pipe = (word(24) + word(36)).saturating_sub(word(28) + word(32));
        Some(match name {
            "state" => FieldValue::Name(state_name(u64::from(self.state))),
            "tcpi_state" => n(u64::from(self.state)),
            "cwnd" | "tcpi_snd_cwnd" => n(word(80)),
            "cwnd_bytes" => n(word(80) * mss),
            "ssthresh" => threshold(1),
            "ssthresh_bytes" => threshold(mss),
            "tcpi_snd_ssthresh" => n(word(76)),
            "alpha" => self
                .alpha_q20
                .map_or(FieldValue::Absent, |a| FieldValue::Number(i128::from(a), 1 << 20)),
            "pipe" => n(pipe),
            "pipe_bytes" => n(pipe * mss),
            "unacked" | "tcpi_unacked" => n(word(24)),
            "mss" | "tcpi_snd_mss" => n(mss),
            "snd_wnd" | "tcpi_snd_wnd" => n(word(228)),
            "srtt" => us(68),
            "rttvar" => us(72),
            "min_rtt" => us(148),
            "rto" => us(8),
            "tcpi_rtt" => n(word(68)),
            "tcpi_rttvar" => n(word(72)),
            "tcpi_min_rtt" => n(word(148)),
            "tcpi_rto" => n(word(8)),
            "unread" => self.unread.map_or(FieldValue::Absent, n),
            // Linux counts its own SYN, and the FIN of the peer.
            "bytes_acked" => n(wide(120).saturating_sub(u64::from(self.active))),
            "bytes_received" => {
                n(wide(128).saturating_sub(u64::from(AFTER_FIN.contains(&self.state))))
            }
            "tcpi_bytes_received" => n(wide(128)),
            "retransmitted" | "tcpi_total_retrans" => n(word(100)),
            "tcpi_bytes_retrans" => n(wide(208)),
            "tcpi_data_segs_out" => n(word(156)),
            "timeouts" => n(word(240) & 0xffff),
            "delivered_ce_segs" | "tcpi_delivered_ce" => n(word(196)),
            "recovery" => flag(byte(1) == RECOVERY),
            "ecn" => flag(byte(5) & OPTION_ECN != 0),
            "cc" => {
                let name = if self.cc == "reno" { "newreno" } else { &self.cc };
                cc::REGISTRY.find(name).map_or(FieldValue::Absent, |e| FieldValue::Name(e.name))
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use lowtide_packetdrill::fields::{FIELDS, LINUX_LACKS};

    use super::KernelConn;

    #[test]
    fn the_list_of_lacking_fields_is_complete() {
        let conn = KernelConn::new(false);
        let lacks = FIELDS.iter().map(|f| f.name).filter(|name| conn.field(name).is_none());
        let mut lacks: Vec<&str> = lacks.collect();
        lacks.sort_unstable();
        assert_eq!(lacks, LINUX_LACKS);
    }
}
