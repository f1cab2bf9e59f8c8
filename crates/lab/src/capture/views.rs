//! One connection as each point of the capture shows it, and which of them is told of.
//!
//! Contract: a capture on several interfaces (`tcpdump -i any`, several interfaces in a pcapng
//! file, VLANs of a trunk) has each packet that the host forwards several times. Each point is
//! followed by itself, so that it is a capture of its own in which no packet comes twice. A point
//! that shows the whole connection is told of; where none does (a bond, several paths) all packets
//! are taken together without the copies that [`super::copies`] recognises.

use lowtide_capture::{Observed, Point};

use super::copies::MOST_POINTS;
use super::flow::Flow;
use super::half::Settings;

/// A point shows all of a connection when it has at most so many percent less than all points
/// together.
const SLACK_PERCENT: u64 = 1;
/// Packets may be merged and split between points (GRO, GSO): their number may differ by more.
const PACKET_SLACK_PERCENT: u64 = 25;

#[derive(Clone, Debug)]
struct View {
    point: Point,
    packets: u64,
    flow: Flow,
}

/// A connection at all points.
#[derive(Clone, Debug)]
pub(super) struct Views {
    /// The packets of all points, without copies as far as they are recognised.
    pub(super) all: Flow,
    /// Where the first packet was captured.
    first: Point,
    packets: u64,
    /// None while there is only one point.
    separate: Vec<View>,
    /// Packets at further points, which are in `all` only.
    beyond: u64,
    settings: Settings,
}

/// The packets that a connection is told of by, and their point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chosen<'a> {
    pub(super) flow: &'a Flow,
    /// The point that it is told from; none where several were taken together.
    pub(super) point: Option<Point>,
    views: &'a Views,
}

impl Views {
    pub(super) fn new(flow: Flow, first: Point, settings: Settings) -> Self {
        Self { all: flow, first, packets: 0, separate: Vec::new(), beyond: 0, settings }
    }

    /// A packet of the end `from` of [`Self::all`], captured at `point`.
    pub(super) fn on_packet(&mut self, time: u64, from: usize, seen: &Observed, point: Point) {
        if self.separate.is_empty() && point != self.first {
            // Until now one point has shown everything.
            let (packets, flow) = (self.packets, self.all.clone());
            self.separate.push(View { point: self.first, packets, flow });
        }
        self.packets += 1;
        let mut number = 0;
        if !self.separate.is_empty() {
            let known = self.separate.iter().position(|v| v.point == point);
            number = known.unwrap_or(self.separate.len());
            if known.is_none() && number < MOST_POINTS {
                let flow = Flow::new(self.all.ends, time, self.settings);
                self.separate.push(View { point, packets: 0, flow });
            }
            match self.separate.get_mut(number) {
                Some(view) => {
                    view.packets += 1;
                    view.flow.on_packet(time, from, seen, 0);
                }
                None => self.beyond += 1,
            }
        }
        self.all.on_packet(time, from, seen, number);
    }

    pub(super) fn finish(&mut self) {
        self.all.finish();
        self.separate.iter_mut().for_each(|v| v.flow.finish());
    }

    /// The point that tells most: of those that show everything the one nearest to the sender of
    /// the data.
    pub(super) fn chosen(&self) -> Chosen<'_> {
        let all = &self.all;
        let sender = usize::from(all.halves[1].stream.highest > all.halves[0].stream.highest);
        let whole = self.separate.iter().filter(|v| self.is_whole(&v.flow));
        let near = |v: &&View| (v.flow.way(1 - sender).unwrap_or(u64::MAX), v.point);
        if let Some(view) = whole.min_by_key(near) {
            return Chosen { flow: &view.flow, point: Some(view.point), views: self };
        }
        let point = self.separate.is_empty().then_some(self.first);
        Chosen { flow: all, point, views: self }
    }

    /// `flow` has seen what all points have, but for a little.
    fn is_whole(&self, flow: &Flow) -> bool {
        let percent = |n: u64, of: u64| n.saturating_mul(100 + of) / 100;
        (0..2).all(|end| {
            let (one, all) = (&flow.halves[end].stream, &self.all.halves[end].stream);
            percent(one.highest, SLACK_PERCENT) >= all.highest
                && percent(one.acked, SLACK_PERCENT) >= all.acked
                && one.unseen_bytes <= all.unseen_bytes + all.highest * SLACK_PERCENT / 100
                && (all.bytes > 0
                    || percent(flow.sent[end], PACKET_SLACK_PERCENT) >= self.all.sent[end])
                && (flow.sent[end] > 0 || self.all.sent[end] == 0)
        })
    }
}

impl Chosen<'_> {
    /// Every point of the connection, the packets there, and whether it is told of.
    pub(super) fn points(&self) -> Vec<(Point, u64, bool)> {
        let v = self.views;
        if v.separate.is_empty() {
            return vec![(v.first, v.packets, true)];
        }
        let told = |p: Point| self.point.is_none_or(|chosen| chosen == p);
        v.separate.iter().map(|view| (view.point, view.packets, told(view.point))).collect()
    }

    /// Packets that were left out because the chosen point does not have them, and those of points
    /// beyond the most.
    pub(super) fn elsewhere(&self) -> u64 {
        let told = self.points().iter().filter(|p| p.2).map(|p| p.1).sum::<u64>();
        self.views.packets - told.min(self.views.packets)
    }
}
