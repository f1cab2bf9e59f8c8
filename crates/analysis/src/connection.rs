//! The report on a connection, in the form of its JSON.

use serde::Serialize;

use super::direction::DirectionReport;
use super::finding::FlowFinding;
use super::flow::{CaptureLocation, FlowState};
use super::handshake::NegotiatedEcn;
use super::socket_statistics::SocketStatistics;
use super::transfer_answer::TransferAnswer;
use super::views::ConnectionViews;
use super::visibility::{CaptureFacts, Visibility};

#[derive(Clone, Debug, Serialize)]
pub(super) struct ConnectionReport {
    pub(super) answer: TransferAnswer,
    /// Number of the connection in the capture, from zero.
    pub(super) flow: usize,
    pub(super) client: String,
    pub(super) server: String,
    /// `handshake`, `syn-only` (no SYN-ACK in the capture), `half-open` (the SYN-ACK was not
    /// acknowledged), `unknown` (the capture does not show whether it was), or `under-way` (it was
    /// open before the capture began).
    pub(super) opened: &'static str,
    /// `open` (it outlasts the capture), `closed`, `half-closed` or `reset`.
    pub(super) ended: &'static str,
    pub(super) reset_by: Option<String>,
    #[serde(skip)]
    pub(super) reset_frame: Option<u64>,
    #[serde(skip)]
    pub(super) syn_frames: Vec<u64>,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) packets: u64,
    pub(super) syns: u64,
    pub(super) syn_acks: u64,
    /// SYNs that asked for ECN.
    pub(super) ecn_syns: u64,
    /// Of both ends, also of one that sent no data.
    pub(super) fin_retransmissions: u64,
    pub(super) handshake_ns: Option<u64>,
    /// Location of the capture: `client`, `server`, `between` or `unknown`.
    pub(super) capture_location: &'static str,
    /// Minimum round-trip times from the capture to the client and to the server.
    pub(super) to_client_ns: Option<u64>,
    pub(super) to_server_ns: Option<u64>,
    pub(super) ecn: NegotiatedEcn,
    /// AE, CWR and ECE of SYN and SYN-ACK as one number (RFC 9768 §3.2.2).
    pub(super) syn_ace: Option<u8>,
    pub(super) syn_ack_ace: Option<u8>,
    pub(super) timestamps: Option<bool>,
    pub(super) sack: Option<bool>,
    pub(super) window_scaling: Option<bool>,
    /// Shifts of client and server, if both scale.
    pub(super) window_scale: Option<[u8; 2]>,
    pub(super) client_mss_bytes: Option<u16>,
    pub(super) server_mss_bytes: Option<u16>,
    pub(super) options_lost: u64,
    pub(super) time_backwards: u64,
    /// The part of the connection that the capture shows.
    pub(super) visible: Visibility,
    /// The direction with more data first.
    pub(super) directions: Vec<DirectionReport>,
    /// Findings, the most severe first; [`super::findings`] computes them.
    pub(super) findings: Vec<FlowFinding>,
}

impl ConnectionReport {
    /// Returns the report on connection `number` of the capture; with `series`, values over time.
    pub(super) fn of(
        number: usize,
        views: &ConnectionViews,
        facts: &CaptureFacts,
        series: bool,
    ) -> Self {
        let chosen = views.selected();
        let flow = chosen.flow;
        let opening = &flow.handshake;
        let client = opening.client.unwrap_or(0);
        let mss = opening.mss();
        let mut directions: Vec<DirectionReport> = [client, 1 - client]
            .into_iter()
            .filter_map(|from| DirectionReport::of(flow, from, series))
            .collect();
        directions.sort_by_key(|d| std::cmp::Reverse(d.bytes));
        let reset = (0..2).find(|i| flow.directions[*i].reset.is_some());
        let visible = Visibility::of(&chosen, client, &directions, facts);
        let fins = (0..2).filter(|i| flow.directions[*i].fin.is_some()).count();
        Self {
            answer: TransferAnswer::default(),
            flow: number,
            client: flow.endpoints[client].to_string(),
            server: flow.endpoints[1 - client].to_string(),
            opened: opened(flow, client, facts),
            ended: match (reset, fins) {
                (Some(_), _) => "reset",
                (None, 2) => "closed",
                (None, 1) => "half-closed",
                _ => "open",
            },
            reset_by: reset.map(|i| flow.endpoints[i].to_string()),
            reset_frame: reset.and_then(|i| flow.directions[i].reset).map(|r| r.1),
            syn_frames: flow.syn_frames.clone(),
            start_ns: flow.first,
            end_ns: flow.last,
            packets: flow.packets,
            syns: opening.syns,
            syn_acks: opening.syn_acks,
            ecn_syns: opening.ecn_syns,
            fin_retransmissions: (0..2).map(|i| flow.directions[i].fin_retransmissions).sum(),
            handshake_ns: opening.first_syn.zip(opening.acked).map(|(a, b)| b.saturating_sub(a)),
            capture_location: match flow.capture_location() {
                CaptureLocation::At(end) if end == client => "client",
                CaptureLocation::At(_) => "server",
                CaptureLocation::Between => "between",
                CaptureLocation::Unknown => "unknown",
            },
            to_client_ns: flow.min_receiver_rtt(1 - client),
            to_server_ns: flow.min_receiver_rtt(client),
            ecn: flow.negotiated_ecn(),
            syn_ace: opening.syn.map(|o| o.flags.ace()),
            syn_ack_ace: opening.syn_ack.map(|o| o.flags.ace()),
            timestamps: opening.timestamps(),
            sack: opening.sack(),
            window_scaling: opening.scaling(),
            window_scale: opening.scales(),
            client_mss_bytes: mss[0],
            server_mss_bytes: mss[1],
            options_lost: flow.options_lost,
            time_backwards: flow.time_backwards,
            visible,
            directions,
            findings: Vec::new(),
        }
    }

    /// Returns the report with its findings and answer.
    pub(super) fn with_findings(self, findings: Vec<FlowFinding>) -> Self {
        let answer = TransferAnswer::of(&self);
        Self { answer, findings, ..self }
    }

    /// Adds the sockets of the senders.
    pub(super) fn add_sockets(&mut self, sockets: &SocketStatistics) {
        for d in &mut self.directions {
            let again = if d.from == self.client { self.syns } else { self.syn_acks };
            d.socket = sockets.witness(d, again.saturating_sub(1));
        }
    }

    /// Returns whether SYNs with ECE and CWR were unanswered and a plain one was (RFC 3168
    /// §6.1.1.1).
    pub(super) fn ecn_syn_dropped(&self) -> bool {
        self.ecn_syns > 0 && self.syn_acks > 0 && self.syn_ace == Some(0)
    }

    pub(super) fn ecn_agreed(&self) -> bool {
        matches!(self.ecn, NegotiatedEcn::Rfc3168 | NegotiatedEcn::Accecn)
    }

    /// Returns the payload bytes of both directions.
    pub(super) fn bytes(&self) -> u64 {
        self.directions.iter().map(|d| d.bytes).sum()
    }
}

/// Time after which an incomplete handshake is stuck: the SYN-ACK is retransmitted after one second
/// (RFC 6298 §2.1).
pub(super) const SYN_RTO_NS: u64 = 1_000_000_000;

/// Returns the state of the handshake, as far as the capture shows it.
fn opened(flow: &FlowState, client: usize, facts: &CaptureFacts) -> &'static str {
    let opening = &flow.handshake;
    let established = flow.established_packets[client] + flow.established_packets[1 - client] > 0;
    match (opening.syn.or(opening.syn_ack), opening.syn_ack) {
        (None, _) => "under-way",
        // Neither end sends other packets before the connection is open.
        (Some(_), _) if established => "handshake",
        (Some(_), None) => "syn-only",
        (Some(_), Some(answer)) => {
            // A missing ACK of the client is significant only if the client's packets are captured.
            let waited = facts.end_ns.saturating_sub(answer.time) >= SYN_RTO_NS;
            let stuck = opening.syn_acks > 1 || (waited && !facts.only_syns);
            if flow.sent[client] > 0 && stuck { "half-open" } else { "unknown" }
        }
    }
}
