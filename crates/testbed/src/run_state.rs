//! State shared by the hosts of one run.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use lowtide_live::Clock;
use lowtide_units::Instant;

/// State shared by the hosts of one run.
#[derive(Debug)]
pub(crate) struct RunState {
    /// Clock of the run.
    clock: Clock,
    stop: AtomicBool,
    /// Sized flows that are delivered or have failed.
    finished_flows: AtomicUsize,
    /// Flow number by client address.
    client_flows: Mutex<BTreeMap<SocketAddrV4, u32>>,
    /// Size of each flow, by number.
    sizes: Vec<Option<u64>>,
}

impl RunState {
    /// Starts the clock of the run.
    pub(crate) fn begin(sizes: Vec<Option<u64>>) -> Self {
        let (stop, over) = (AtomicBool::new(false), AtomicUsize::new(0));
        Self {
            clock: Clock::start(),
            stop,
            finished_flows: over,
            client_flows: Mutex::default(),
            sizes,
        }
    }

    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Counts a sized flow as finished.
    pub(crate) fn on_flow_finished(&self) {
        self.finished_flows.fetch_add(1, Ordering::AcqRel);
    }

    /// True if every sized flow is finished.
    pub(crate) fn is_done(&self) -> bool {
        let sized = self.sizes.iter().flatten().count();
        self.finished_flows.load(Ordering::Acquire) >= sized && sized > 0
    }

    /// Records that the client at `from` opens the connection of `flow`.
    pub(crate) fn note_opened(&self, from: SocketAddrV4, flow: u32) {
        self.client_flows.lock().unwrap_or_else(PoisonError::into_inner).insert(from, flow);
    }

    /// Flow of a client, and its size.
    pub(crate) fn flow_of(&self, from: SocketAddrV4) -> Option<(u32, Option<u64>)> {
        let flow = *self.client_flows.lock().unwrap_or_else(PoisonError::into_inner).get(&from)?;
        Some((flow, self.sizes.get(flow as usize).copied().flatten()))
    }
}
