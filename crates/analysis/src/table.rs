//! The connections of a capture.
//!
//! Contract: a connection is identified by its 4-tuple and its SYN; at most [`MAX_FLOWS`] are
//! tracked.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use super::capture::{CapturePoint, CapturedPacket};
use lowtide_wire::{Addresses, Flags};

use super::direction_state::AnalysisSettings;
use super::flow::FlowState;
use super::views::ConnectionViews;

/// Limit on tracked connections.
pub(super) const MAX_FLOWS: usize = 100_000;

#[derive(Debug)]
pub(super) struct ConnectionTable {
    now: BTreeMap<[SocketAddr; 2], usize>,
    pub(super) flows: Vec<ConnectionViews>,
    /// Packets of connections beyond the limit.
    pub(super) untracked: u64,
    settings: AnalysisSettings,
    /// Numbers of the connections to plot.
    traced: Vec<usize>,
}

impl ConnectionTable {
    /// Creates a table that tracks connections with `settings` and records those in `traced` for
    /// plots.
    pub(super) fn new(settings: AnalysisSettings, traced: Vec<usize>) -> Self {
        Self { now: BTreeMap::new(), flows: Vec::new(), untracked: 0, settings, traced }
    }

    /// Processes a packet: its time and frame number.
    pub(super) fn on_packet(&mut self, at: (u64, u64), seen: &CapturedPacket, point: CapturePoint) {
        let segment = &seen.segment;
        let (src, dst): (IpAddr, IpAddr) = match seen.addresses {
            Addresses::V4 { src, dst } => (src.into(), dst.into()),
            Addresses::V6 { src, dst } => (src.into(), dst.into()),
        };
        let ends = [SocketAddr::new(src, segment.src_port), SocketAddr::new(dst, segment.dst_port)];
        let mut key = ends;
        key.sort_unstable();
        let known = self.now.get(&key).copied();
        let known = known.filter(|i| {
            let flow = &self.flows[*i].merged;
            !flow.is_port_reuse(usize::from(flow.endpoints[0] != ends[0]), seen)
        });
        let number = match known {
            Some(number) => number,
            None if self.flows.len() >= MAX_FLOWS => {
                self.untracked += 1;
                return;
            }
            None => {
                let number = self.flows.len();
                let traced = self.traced.contains(&number);
                let settings = AnalysisSettings { traced, ..self.settings };
                // Puts the client first if the packet identifies it.
                let answer = segment.flags.contains(Flags::SYN | Flags::ACK);
                let ends = if answer { [ends[1], ends[0]] } else { ends };
                let flow = FlowState::new(ends, at.0, settings);
                self.flows.push(ConnectionViews::new(flow, point, settings));
                self.now.insert(key, number);
                number
            }
        };
        let flow = &mut self.flows[number];
        let from = usize::from(flow.merged.endpoints[0] != ends[0]);
        flow.on_packet(at, from, seen, point);
    }

    pub(super) fn finish(&mut self) {
        self.flows.iter_mut().for_each(ConnectionViews::finish);
    }
}
