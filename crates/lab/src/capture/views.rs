//! One connection as each point of the capture shows it, and which of them is told of.
//!
//! Contract: a capture on several interfaces (`tcpdump -i any`, several interfaces in a pcapng
//! file, VLANs of a trunk) has each packet that the host forwards several times. Each point is
//! followed by itself, so that it is a capture of its own in which no packet comes twice. A point
//! that shows the whole connection is told of; where none does (a bond, several paths) all packets
//! are taken together without the copies that [`super::copies`] recognises.

use lowtide_capture::{CapturePoint, CapturedPacket};

use super::copies::MAX_POINTS;
use super::direction_state::AnalysisSettings;
use super::flow::FlowState;

/// A point shows all of a connection when it has at most so many percent less than all points
/// together.
const SLACK_PERCENT: u64 = 1;
/// Packets may be merged and split between points (GRO, GSO): their number may differ by more.
const PACKET_SLACK_PERCENT: u64 = 25;

#[derive(Clone, Debug)]
struct View {
    point: CapturePoint,
    packets: u64,
    flow: FlowState,
}

/// A connection at all points.
#[derive(Clone, Debug)]
pub(super) struct ConnectionViews {
    /// The packets of all points, without copies as far as they are recognised.
    pub(super) merged: FlowState,
    /// Where the first packet was captured.
    first: CapturePoint,
    packets: u64,
    /// None while there is only one point.
    per_point: Vec<View>,
    /// Packets at further points, which are in `all` only.
    untracked: u64,
    settings: AnalysisSettings,
}

/// The packets that a connection is told of by, and their point.
#[derive(Clone, Copy, Debug)]
pub(super) struct SelectedView<'a> {
    pub(super) flow: &'a FlowState,
    /// The point that it is told from; none where several were taken together.
    pub(super) point: Option<CapturePoint>,
    views: &'a ConnectionViews,
}

impl ConnectionViews {
    pub(super) fn new(flow: FlowState, first: CapturePoint, settings: AnalysisSettings) -> Self {
        Self { merged: flow, first, packets: 0, per_point: Vec::new(), untracked: 0, settings }
    }

    /// A packet of the end `from` of [`Self::all`], captured at `point`.
    pub(super) fn on_packet(
        &mut self,
        time: u64,
        from: usize,
        seen: &CapturedPacket,
        point: CapturePoint,
    ) {
        if self.per_point.is_empty() && point != self.first {
            // Until now one point has shown everything.
            let (packets, flow) = (self.packets, self.merged.clone());
            self.per_point.push(View { point: self.first, packets, flow });
        }
        self.packets += 1;
        let mut number = 0;
        if !self.per_point.is_empty() {
            let known = self.per_point.iter().position(|v| v.point == point);
            number = known.unwrap_or(self.per_point.len());
            if known.is_none() && number < MAX_POINTS {
                let flow = FlowState::new(self.merged.endpoints, time, self.settings);
                self.per_point.push(View { point, packets: 0, flow });
            }
            match self.per_point.get_mut(number) {
                Some(view) => {
                    view.packets += 1;
                    view.flow.on_packet(time, from, seen, 0);
                }
                None => self.untracked += 1,
            }
        }
        self.merged.on_packet(time, from, seen, number);
    }

    pub(super) fn finish(&mut self) {
        self.merged.finish();
        self.per_point.iter_mut().for_each(|v| v.flow.finish());
    }

    /// The point that tells most: of those that show everything the one nearest to the sender of
    /// the data.
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

    /// `flow` has seen what all points have, but for a little.
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
    /// Every point of the connection, the packets there, and whether it is told of.
    pub(super) fn points(&self) -> Vec<(CapturePoint, u64, bool)> {
        let v = self.views;
        if v.per_point.is_empty() {
            return vec![(v.first, v.packets, true)];
        }
        let told = |p: CapturePoint| self.point.is_none_or(|chosen| chosen == p);
        v.per_point.iter().map(|view| (view.point, view.packets, told(view.point))).collect()
    }

    /// Packets that were left out because the chosen point does not have them, and those of points
    /// beyond the most.
    pub(super) fn packets_elsewhere(&self) -> u64 {
        let told = self.points().iter().filter(|p| p.2).map(|p| p.1).sum::<u64>();
        self.views.packets - told.min(self.views.packets)
    }
}
