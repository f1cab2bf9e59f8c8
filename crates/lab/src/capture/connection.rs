//! What is told of a connection, as JSON has it.

use serde::Serialize;

use super::direction::Direction;
use super::finding::Finding;
use super::flow::{Flow, Vantage};
use super::opening::Mode;
use super::views::Views;
use super::visible::{Scene, Visible};

#[derive(Clone, Debug, Serialize)]
pub(super) struct Connection {
    /// Its number in the capture, from zero.
    pub(super) flow: usize,
    pub(super) client: String,
    pub(super) server: String,
    /// `handshake`, `syn-only` (no answer in the capture), `half-open` (the answer was not
    /// acknowledged), `unknown` (the capture does not show whether it was), or `under-way` (it was
    /// open before the capture began).
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
    /// What the capture shows of it.
    pub(super) visible: Visible,
    /// `problems`, `none-found`, or `undetermined`: none found, and the capture does not show
    /// enough to say more.
    pub(super) verdict: &'static str,
    /// The direction with more data first.
    pub(super) directions: Vec<Direction>,
    /// The worst first; [`super::findings`] finds them.
    pub(super) findings: Vec<Finding>,
}

impl Connection {
    /// Connection `number` of the capture.
    pub(super) fn of(number: usize, views: &Views, scene: &Scene) -> Self {
        let chosen = views.chosen();
        let flow = chosen.flow;
        let opening = &flow.opening;
        let client = opening.client.unwrap_or(0);
        let mss = opening.mss();
        let mut directions: Vec<Direction> =
            [client, 1 - client].into_iter().filter_map(|from| Direction::of(flow, from)).collect();
        directions.sort_by_key(|d| std::cmp::Reverse(d.bytes));
        let reset = (0..2).find(|i| flow.halves[*i].reset.is_some());
        let visible = Visible::of(&chosen, client, &directions, scene);
        let fins = (0..2).filter(|i| flow.halves[*i].fin.is_some()).count();
        Self {
            flow: number,
            client: flow.ends[client].to_string(),
            server: flow.ends[1 - client].to_string(),
            opened: opened(flow, client, scene),
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
            visible,
            verdict: "none-found",
            directions,
            findings: Vec::new(),
        }
    }

    /// The same with what was found.
    pub(super) fn with(self, findings: Vec<Finding>) -> Self {
        let verdict = if !findings.iter().all(Finding::is_of_the_capture) {
            "problems"
        } else if self.is_shown_in_part() {
            "undetermined"
        } else {
            "none-found"
        };
        Self { verdict, findings, ..self }
    }

    /// Losses and stalls could be there and not be seen.
    fn is_shown_in_part(&self) -> bool {
        let in_part = |d: &Direction| {
            !d.data_seen || !d.acks_seen || d.unseen_bytes.saturating_mul(100) > d.acked_bytes
        };
        self.visible.packets_of != "both"
            || self.visible.merged
            || matches!(self.opened, "syn-only" | "unknown")
            || self.directions.iter().any(in_part)
    }

    /// Payload bytes of both directions.
    pub(super) fn bytes(&self) -> u64 {
        self.directions.iter().map(|d| d.bytes).sum()
    }
}

/// A handshake that is not over by then is stuck: the SYN-ACK is sent again after a second (RFC
/// 6298 §2.1).
pub(super) const SYN_RTO_NS: u64 = 1_000_000_000;

/// How far the handshake came, as far as the capture shows.
fn opened(flow: &Flow, client: usize, scene: &Scene) -> &'static str {
    let opening = &flow.opening;
    let established = flow.established[client] + flow.established[1 - client] > 0;
    match (opening.syn.or(opening.syn_ack), opening.syn_ack) {
        (None, _) => "under-way",
        // Neither end sends anything else before it is open.
        (Some(_), _) if established => "handshake",
        (Some(_), None) => "syn-only",
        (Some(_), Some(answer)) => {
            // The client's ACK is missing: that tells something only where its packets are
            // captured.
            let waited = scene.end_ns.saturating_sub(answer.time) >= SYN_RTO_NS;
            let stuck = opening.syn_acks > 1 || (waited && !scene.only_syns);
            if flow.sent[client] > 0 && stuck { "half-open" } else { "unknown" }
        }
    }
}
