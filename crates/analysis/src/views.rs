//! Views of a connection, one per capture point, and the view that is reported.
//!
//! Contract: a capture on several interfaces (`tcpdump -i any`, several interfaces in a pcapng
//! file, VLANs of a trunk) has several copies of each forwarded packet. Each point is tracked
//! separately, so that no packet occurs twice in it. A point that shows the whole connection is
//! reported. If none does (a bond, several paths), the packets of all points are merged without the
//! copies that [`super::copies`] recognises.

use super::capture::{CapturePoint, CapturedPacket};

use super::copies::MAX_POINTS;
use super::direction_state::AnalysisSettings;
use super::flow::FlowState;

/// A view is complete if it has at most this percentage less than all points together.
const SLACK_PERCENT: u64 = 1;
/// Packets may be merged and split between points (GRO, GSO), so their number may differ by more.
const PACKET_SLACK_PERCENT: u64 = 25;

#[derive(Clone, Debug)]
struct View {
    point: CapturePoint,
    packets: u64,
    flow: FlowState,
}

/// A connection at all capture points.
#[derive(Clone, Debug)]
pub(super) struct ConnectionViews {
    /// Packets of all points, without recognised copies.
    pub(super) merged: FlowState,
    /// Point of the first packet.
    first: CapturePoint,
    packets: u64,
    /// Views per point; empty while there is only one point.
    per_point: Vec<View>,
    /// Packets at further points, which are in `merged` only.
    untracked: u64,
    settings: AnalysisSettings,
}

/// The view of a connection that is reported, and its point.
#[derive(Clone, Copy, Debug)]
pub(super) struct SelectedView<'a> {
    pub(super) flow: &'a FlowState,
    /// Point of the view; `None` if several were merged.
    pub(super) point: Option<CapturePoint>,
    views: &'a ConnectionViews,
}

impl ConnectionViews {
    pub(super) fn new(flow: FlowState, first: CapturePoint, settings: AnalysisSettings) -> Self {
        Self { merged: flow, first, packets: 0, per_point: Vec::new(), untracked: 0, settings }
    }

    /// Processes a packet of end `from` of [`Self::merged`], captured at `point`: its time and
    /// frame number.
    pub(super) fn on_packet(
        &mut self,
        at: (u64, u64),
        from: usize,
        seen: &CapturedPacket,
        point: CapturePoint,
    ) {
        if self.per_point.is_empty() && point != self.first {
            // Until now one point has shown all packets.
            let (packets, flow) = (self.packets, self.merged.clone());
            self.per_point.push(View { point: self.first, packets, flow });
        }
        self.packets += 1;
        let mut number = 0;
        if !self.per_point.is_empty() {
            let known = self.per_point.iter().position(|v| v.point == point);
            number = known.unwrap_or(self.per_point.len());
            if known.is_none() && number < MAX_POINTS {
                let flow = FlowState::new(self.merged.endpoints, at.0, self.settings);
                self.per_point.push(View { point, packets: 0, flow });
            }
            match self.per_point.get_mut(number) {
                Some(view) => {
                    view.packets += 1;
                    view.flow.on_packet(at, from, seen, 0);
                }
                None => self.untracked += 1,
            }
        }
        self.merged.on_packet(at, from, seen, number);
    }

    pub(super) fn finish(&mut self) {
        self.merged.finish();
        self.per_point.iter_mut().for_each(|v| v.flow.finish());
    }

    /// Returns the best view: of the complete ones, the one nearest to the sender of the data.
    pub(super) fn selected(&self) -> SelectedView<'_> {
        let all = &self.merged;
        let sender =
            usize::from(all.directions[1].stream.highest > all.directions[0].stream.highest);
        let whole = self.per_point.iter().filter(|v| self.is_complete(&v.flow));
        let near = |v: &&View| (v.flow.min_receiver_rtt(1 - sender).unwrap_or(u64::MAX), v.point);
        if let Some(view) = whole.min_by_key(near) {
            return SelectedView { flow: &view.flow, point: Some(view.point), views: self };
        }
        let point = self.per_point.is_empty().then_some(self.first);
        SelectedView { flow: all, point, views: self }
    }

    /// Returns whether `flow` has nearly all that all points have.
    fn is_complete(&self, flow: &FlowState) -> bool {
        let percent = |n: u64, of: u64| n.saturating_mul(100 + of) / 100;
        (0..2).all(|end| {
            let (one, all) = (&flow.directions[end].stream, &self.merged.directions[end].stream);
            percent(one.highest, SLACK_PERCENT) >= all.highest
                && percent(one.acked, SLACK_PERCENT) >= all.acked
                && one.unseen_bytes <= all.unseen_bytes + all.highest * SLACK_PERCENT / 100
                && (all.bytes > 0
                    || percent(flow.sent[end], PACKET_SLACK_PERCENT) >= self.merged.sent[end])
                && (flow.sent[end] > 0 || self.merged.sent[end] == 0)
        })
    }
}

impl SelectedView<'_> {
    /// Returns every point of the connection, its packets, and whether it is reported.
    pub(super) fn points(&self) -> Vec<(CapturePoint, u64, bool)> {
        let v = self.views;
        if v.per_point.is_empty() {
            return vec![(v.first, v.packets, true)];
        }
        let reported = |p: CapturePoint| self.point.is_none_or(|chosen| chosen == p);
        v.per_point.iter().map(|view| (view.point, view.packets, reported(view.point))).collect()
    }

    /// Returns the number of packets that only other points have, including points beyond the
    /// limit.
    pub(super) fn packets_elsewhere(&self) -> u64 {
        let reported = self.points().iter().filter(|p| p.2).map(|p| p.1).sum::<u64>();
        self.views.packets - reported.min(self.views.packets)
    }
}
