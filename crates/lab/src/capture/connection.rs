//! What is told of a connection, as JSON has it.

use serde::Serialize;

use super::direction::Direction;
use super::finding::Finding;
use super::flow::{Flow, Vantage};
use super::opening::Mode;

#[derive(Clone, Debug, Serialize)]
pub(super) struct Connection {
    /// Its number in the capture, from zero.
    pub(super) flow: usize,
    pub(super) client: String,
    pub(super) server: String,
    /// `handshake`, `syn-only` (nobody answered), `half-open` (the answer was not acknowledged), or
    /// `under-way` (it was open before the capture began).
    pub(super) opened: &'static str,
    /// `open` (it outlasts the capture), `closed`, `half-closed` or `reset`.
    pub(super) ended: &'static str,
    pub(super) reset_by: Option<String>,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) packets: u64,
    pub(super) syns: u64,
    pub(super) syn_acks: u64,
    pub(super) handshake_ns: Option<u64>,
    /// Where the capture was taken: `client`, `server`, `between` or `unknown`.
    pub(super) taken_at: &'static str,
    /// Least times from the capture to client and server and back.
    pub(super) to_client_ns: Option<u64>,
    pub(super) to_server_ns: Option<u64>,
    pub(super) ecn: Mode,
    /// AE, CWR and ECE of SYN and SYN-ACK as one number, as RFC 9768 §3.2.2 has it.
    pub(super) syn_ace: Option<u8>,
    pub(super) syn_ack_ace: Option<u8>,
    pub(super) timestamps: Option<bool>,
    pub(super) sack: Option<bool>,
    pub(super) window_scaling: Option<bool>,
    /// Shifts of client and server, where both scale.
    pub(super) window_scale: Option<[u8; 2]>,
    pub(super) client_mss_bytes: Option<u16>,
    pub(super) server_mss_bytes: Option<u16>,
    pub(super) options_lost: u64,
    pub(super) time_backwards: u64,
    /// The direction with more data first.
    pub(super) directions: Vec<Direction>,
    /// The worst first; [`super::findings`] finds them.
    pub(super) findings: Vec<Finding>,
}

impl Connection {
    pub(super) fn of(number: usize, flow: &Flow) -> Self {
        let opening = &flow.opening;
        let client = opening.client.unwrap_or(0);
        let mss = opening.mss();
        let mut directions: Vec<Direction> =
            [client, 1 - client].into_iter().filter_map(|from| Direction::of(flow, from)).collect();
        directions.sort_by_key(|d| std::cmp::Reverse(d.bytes));
        let reset = (0..2).find(|i| flow.halves[*i].reset.is_some());
        let fins = flow.halves.iter().filter(|h| h.fin.is_some()).count();
        Self {
            flow: number,
            client: flow.ends[client].to_string(),
            server: flow.ends[1 - client].to_string(),
            opened: match (
                opening.syn.is_some(),
                opening.syn_ack.is_some(),
                opening.acked.is_some(),
            ) {
                (false, false, _) => "under-way",
                (_, false, _) if directions.is_empty() => "syn-only",
                (_, true, false) => "half-open",
                _ => "handshake",
            },
            ended: match (reset, fins) {
                (Some(_), _) => "reset",
                (None, 2) => "closed",
                (None, 1) => "half-closed",
                _ => "open",
            },
            reset_by: reset.map(|i| flow.ends[i].to_string()),
            start_ns: flow.first,
            end_ns: flow.last,
            packets: flow.packets,
            syns: opening.syns,
            syn_acks: opening.syn_acks,
            handshake_ns: opening.first_syn.zip(opening.acked).map(|(a, b)| b.saturating_sub(a)),
            taken_at: match flow.vantage() {
                Vantage::At(end) if end == client => "client",
                Vantage::At(_) => "server",
                Vantage::Between => "between",
                Vantage::Unknown => "unknown",
            },
            to_client_ns: flow.way(1 - client),
            to_server_ns: flow.way(client),
            ecn: flow.mode(),
            syn_ace: opening.syn.map(|o| o.flags.ace()),
            syn_ack_ace: opening.syn_ack.map(|o| o.flags.ace()),
            timestamps: opening.timestamps(),
            sack: opening.sack(),
            window_scaling: opening.scaling(),
            window_scale: opening.scales(),
            client_mss_bytes: mss[0],
            server_mss_bytes: mss[1],
            options_lost: flow.options_lost,
            time_backwards: flow.backwards,
            directions,
            findings: Vec::new(),
        }
    }

    /// Payload bytes of both directions.
    pub(super) fn bytes(&self) -> u64 {
        self.directions.iter().map(|d| d.bytes).sum()
    }
}
