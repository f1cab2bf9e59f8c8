//! The queues on the path of a flow: their lengths over time, and the one where data waits longest.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use lowtide_rows::TraceHopRow;

use super::series::{Point, Staircase};

/// Weight of a drop: it outweighs any wait.
const DROP: u64 = 1_000_000_000;

/// Returns true if the packet entered the queue.
pub(super) fn was_enqueued(hop: &TraceHopRow) -> bool {
    !hop.verdict.starts_with("dropped") && hop.verdict != "lost"
}

/// Finds the port at which the data of a flow waits longest.
#[derive(Clone, Debug, Default)]
pub(super) struct BottleneckFinder {
    /// The port of the sending host.
    own: Option<u32>,
    /// Wait at each port in picoseconds, and its name.
    waits: BTreeMap<u32, (u64, Arc<str>)>,
}

impl BottleneckFinder {
    /// Adds a hop of the flow's data.
    pub(super) fn data(&mut self, hop: &TraceHopRow) {
        let own = *self.own.get_or_insert(hop.queue);
        let dropped = hop.verdict.starts_with("dropped");
        let wait = if dropped { DROP } else { hop.start_ps - hop.time_ps };
        let (sum, _) = self.waits.entry(hop.queue).or_insert_with(|| (0, Arc::clone(&hop.name)));
        *sum += if hop.queue == own { 0 } else { wait + 1 };
    }

    /// Returns the port except the sending host's; without any wait it is the last one.
    pub(super) fn found(&self) -> Option<(u32, &Arc<str>)> {
        let (queue, (_, name)) =
            self.waits.iter().max_by_key(|(queue, (wait, _))| (*wait, **queue))?;
        Some((*queue, name))
    }
}

/// The length of a queue at every change. Arrivals give the length that the port counted; between
/// them it shrinks as packets are sent.
///
/// Some ports count the packet in service, others do not. Both readings are kept until the end.
#[derive(Clone, Debug)]
pub(super) struct QueueLength {
    /// Packets that were enqueued: start and end of their transmission.
    present: VecDeque<(u64, u64)>,
    /// Some packet found one more than waited.
    counts_in_service: bool,
    /// Without and with the packet in service.
    readings: [Reading; 2],
}

#[derive(Clone, Debug)]
struct Reading {
    /// Times at which packets leave.
    leaving: VecDeque<u64>,
    length: u32,
    points: Staircase,
}

impl Reading {
    /// Removes the packets that have left by `time`.
    fn drain(&mut self, time: u64) {
        while let Some(at) = self.leaving.front().copied().filter(|at| *at <= time) {
            self.leaving.pop_front();
            self.length = self.length.saturating_sub(1);
            self.points.push((at, f64::from(self.length)));
        }
    }
}

impl QueueLength {
    /// Returns an empty queue, drawn from `from` to `to`.
    pub(super) fn new(from: u64, to: u64) -> Self {
        let points = Staircase::new(from, to);
        let reading = Reading { leaving: VecDeque::new(), length: 0, points };
        Self {
            present: VecDeque::new(),
            counts_in_service: false,
            readings: [reading.clone(), reading],
        }
    }

    /// Adds a packet of any flow at this port.
    pub(super) fn hop(&mut self, hop: &TraceHopRow) {
        while self.present.front().is_some_and(|(_, departure)| *departure <= hop.time_ps) {
            self.present.pop_front();
        }
        let on_line = self.present.front().is_some_and(|(start, _)| *start <= hop.time_ps);
        self.counts_in_service |= on_line && hop.queue_packets as usize == self.present.len();
        let enqueued = was_enqueued(hop);
        if enqueued {
            self.present.push_back((hop.start_ps, hop.departure_ps));
        }
        for (in_service, reading) in [false, true].into_iter().zip(&mut self.readings) {
            reading.drain(hop.time_ps);
            reading.length = hop.queue_packets;
            if enqueued && (in_service || hop.start_ps > hop.time_ps) {
                reading.length += 1;
                reading.leaving.push_back(if in_service { hop.departure_ps } else { hop.start_ps });
            }
            reading.points.push((hop.time_ps, f64::from(reading.length)));
        }
    }

    pub(super) fn finish(self) -> Vec<Point> {
        let [without, with] = self.readings;
        let mut reading = if self.counts_in_service { with } else { without };
        reading.drain(u64::MAX);
        reading.points.points()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(time_ps: u64, queue_packets: u32, start_ps: u64, departure_ps: u64) -> TraceHopRow {
        TraceHopRow {
            time_ps,
            queue: 0,
            name: "".into(),
            flow: 0,
            from_sender: true,
            packet: None,
            size_bytes: 1500,
            verdict: "queued".to_owned(),
            queue_packets,
            queue_bytes: u64::from(queue_packets) * 1500,
            start_ps,
            departure_ps,
        }
    }

    #[test]
    fn counting_the_packet_in_service_is_detected() {
        let counted = |found: [u32; 3]| {
            let mut queue = QueueLength::new(0, u64::MAX);
            queue.hop(&hop(0, found[0], 0, 10));
            queue.hop(&hop(1, found[1], 10, 20));
            queue.hop(&hop(2, found[2], 20, 30));
            (queue.counts_in_service, queue.finish())
        };
        let with = [(0, 1.0), (1, 2.0), (2, 3.0), (10, 2.0), (20, 1.0), (30, 0.0)];
        assert_eq!(counted([0, 1, 2]), (true, with.to_vec()));
        let without = [(0, 0.0), (1, 1.0), (2, 2.0), (10, 1.0), (20, 0.0)];
        assert_eq!(counted([0, 0, 1]), (false, without.to_vec()));
        assert!(!counted([0, 0, 0]).0, "no packet waited: unknown, and irrelevant");
    }
}
