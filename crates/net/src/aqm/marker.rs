//! The running marker of a queue.

use lowtide_units::{Instant, QueueLength};

use super::api::{Aqm, AqmVerdict, DequeueInfo, EnqueueInfo, IGNORES_ARRIVALS};
use super::threshold::Threshold;
use crate::Occupancy;

/// Any running marker. Most queues have no marker or a threshold; these need no allocation and no
/// indirect call.
#[derive(Clone, Debug)]
pub struct Marker(Kind);

#[derive(Clone, Debug)]
enum Kind {
    None,
    Threshold(Threshold),
    Boxed(Box<dyn CloneAqm>),
}

/// A marker that can be copied behind a pointer: a copy of a network reports its statistics.
trait CloneAqm: Aqm {
    fn boxed_clone(&self) -> Box<dyn CloneAqm>;
}

impl<T: Aqm + Clone + 'static> CloneAqm for T {
    fn boxed_clone(&self) -> Box<dyn CloneAqm> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn CloneAqm> {
    fn clone(&self) -> Self {
        self.as_ref().boxed_clone()
    }
}

impl Marker {
    /// Forwards every packet.
    pub const NONE: Self = Self(Kind::None);

    /// A marker with its own decisions.
    pub fn new(aqm: impl Aqm + Clone + 'static) -> Self {
        Self(Kind::Boxed(Box::new(aqm)))
    }

    /// Judges arriving packets by the queue that they find.
    pub const fn threshold(threshold: Threshold) -> Self {
        Self(Kind::Threshold(threshold))
    }
}

impl Aqm for Marker {
    fn on_enqueue(&mut self, now: Instant, packet: &EnqueueInfo) -> AqmVerdict {
        match &mut self.0 {
            Kind::None => AqmVerdict::Forward,
            Kind::Threshold(m) => m.on_enqueue(now, packet),
            Kind::Boxed(m) => m.on_enqueue(now, packet),
        }
    }

    fn on_dequeue(&mut self, now: Instant, packet: &DequeueInfo) -> AqmVerdict {
        match &mut self.0 {
            Kind::None | Kind::Threshold(_) => AqmVerdict::Forward,
            Kind::Boxed(m) => m.on_dequeue(now, packet),
        }
    }

    fn on_empty(&mut self) {
        if let Kind::Boxed(m) = &mut self.0 {
            m.on_empty();
        }
    }

    fn advance(&mut self, until: Instant, queue: Occupancy) {
        if let Kind::Boxed(m) = &mut self.0 {
            m.advance(until, queue);
        }
    }

    fn unmarked_limit(&self) -> Option<QueueLength> {
        match &self.0 {
            Kind::None => IGNORES_ARRIVALS,
            Kind::Threshold(m) => m.unmarked_limit(),
            Kind::Boxed(m) => m.unmarked_limit(),
        }
    }
}
