//! The places, and who yields one.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use lowtide_units::{Duration, Instant};

use super::{AdmissionLimits, CloseCause, Source};

/// A connection with a place.
#[derive(Debug)]
struct Place {
    source: Source,
    /// Bytes that it has moved.
    moved: u64,
    /// Time of the last byte.
    last_byte: Instant,
    /// Time until which its bytes have paid.
    paid_until: Instant,
}

impl Place {
    fn lag(&self, now: Instant) -> Duration {
        now.saturating_since(self.paid_until)
    }

    fn record(&mut self, now: Instant, moved: u64, limits: &AdmissionLimits) {
        let Some(bytes) = moved.checked_sub(self.moved).filter(|bytes| *bytes > 0) else { return };
        (self.moved, self.last_byte) = (moved, now);
        // Older debts than a window are forgiven once bytes move again.
        let window = limits.rate_window;
        let oldest = Instant::from_ps(now.as_ps().saturating_sub(window.as_ps()));
        self.paid_until = (self.paid_until.max(oldest) + limits.paid_time(bytes)).min(now);
    }
}

/// Placement of a newcomer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Placement {
    /// A place is free.
    Free,
    /// It takes the place of this connection.
    Replaces(usize),
    /// It must wait.
    Wait,
}

/// The places by the numbers of their connections.
#[derive(Debug)]
pub(super) struct PlaceTable {
    limits: AdmissionLimits,
    probation_bytes: u64,
    places: BTreeMap<usize, Place>,
    /// Connections of each source.
    counts: BTreeMap<Source, usize>,
    /// Until then no connection lags enough to yield.
    none_lags_until: Instant,
}

impl PlaceTable {
    pub(super) fn new(limits: AdmissionLimits) -> Self {
        let probation_bytes = limits.probation_bytes();
        let (places, counts) = (BTreeMap::new(), BTreeMap::new());
        Self { limits, probation_bytes, places, counts, none_lags_until: Instant::FAR_FUTURE }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn insert(&mut self, now: Instant, number: usize, source: Source) {
        let place = Place { source, moved: 0, last_byte: now, paid_until: now };
        self.places.insert(number, place);
        *self.counts.entry(source).or_default() += 1;
        self.none_lags_until = self.none_lags_until.min(now + self.limits.yield_after);
    }

    pub(super) fn remove(&mut self, number: usize) {
        let Some(place) = self.places.remove(&number) else { return };
        if let Some(count) = self.counts.get_mut(&place.source) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&place.source);
            }
        }
    }

    /// Whether more than half of the places are taken.
    fn is_pressed(&self) -> bool {
        self.places.len() > self.limits.max_connections / 2
    }

    /// Decides on a newcomer from `source`. `moved` returns the bytes that a connection has moved.
    pub(super) fn placement(
        &mut self,
        now: Instant,
        source: Source,
        moved: &dyn Fn(usize) -> u64,
    ) -> Placement {
        let most = self.limits.max_connections.max(1);
        let full = self.places.len() >= most;
        if !full && !self.is_pressed() {
            return Placement::Free;
        }
        let count = self.counts.get(&source).copied().unwrap_or(0);
        let sources = self.counts.len() + usize::from(count == 0);
        let share = (most / sources).max(1);
        let victim = if count >= share {
            self.victim(now, |s, _| s == source, false, moved)
        } else if full {
            let largest = self.counts.values().copied().max().unwrap_or(0);
            self.victim(now, |_, count| count == largest, largest > share, moved)
        } else {
            None
        };
        match victim {
            Some(number) => Placement::Replaces(number),
            None if full => Placement::Wait,
            None => Placement::Free,
        }
    }

    /// The connection to close first, of sources that `may_yield` selects by their number of
    /// connections. Without `any` it must lag.
    ///
    /// Visits all places only if some connection may lag, so that arrivals in a flood mostly cost
    /// no visit: a visit ends with a place for a newcomer, or rules out others for some time.
    fn victim(
        &mut self,
        now: Instant,
        may_yield: impl Fn(Source, usize) -> bool,
        any: bool,
        moved: &dyn Fn(usize) -> u64,
    ) -> Option<usize> {
        if !any && now < self.none_lags_until {
            return None;
        }
        let Self { limits, probation_bytes, places, counts, none_lags_until } = self;
        *none_lags_until = Instant::FAR_FUTURE;
        let mut first = None;
        for (number, place) in places.iter_mut() {
            place.record(now, moved(*number), limits);
            let probation = place.moved < *probation_bytes;
            let least = limits.yield_lag(probation);
            *none_lags_until = (*none_lags_until).min(place.paid_until + least);
            let lag = place.lag(now);
            let count = counts.get(&place.source).copied().unwrap_or(0);
            if (any || lag >= least) && may_yield(place.source, count) {
                let order = (Reverse(probation), Reverse(lag), *number);
                first = Some(first.map_or(order, |first: (_, _, _)| order.min(first)));
            }
        }
        first.map(|(_, _, number)| number)
    }

    /// A lagging connection other than `except`, to be closed because a resource has run out.
    pub(super) fn laggard(
        &mut self,
        now: Instant,
        except: usize,
        moved: &dyn Fn(usize) -> u64,
    ) -> Option<usize> {
        // The newcomer has no lag yet.
        self.victim(now, |_, _| true, false, moved).filter(|number| *number != except)
    }

    /// Connections that are idle or too slow.
    pub(super) fn overdue(
        &mut self,
        now: Instant,
        moved: &dyn Fn(usize) -> u64,
    ) -> Vec<(usize, CloseCause)> {
        let pressed = self.is_pressed();
        let Self { limits, probation_bytes, places, .. } = self;
        let overdue = places.iter_mut().filter_map(|(number, place)| {
            place.record(now, moved(*number), limits);
            if now.saturating_since(place.last_byte) >= limits.idle {
                return Some((*number, CloseCause::Idle));
            }
            let probation = place.moved < *probation_bytes;
            let slow = pressed && probation && place.lag(now) >= limits.rate_window;
            slow.then_some((*number, CloseCause::TooSlow))
        });
        overdue.collect()
    }
}
