//! Counters of queues, and their exact histograms of lengths.
//!
//! Every counter counts from time zero and is reset at the end of the warm-up, so the fast path
//! needs no test for it.

mod fifo;
mod levels;

pub(crate) use self::fifo::{FifoCounters, FifoState};
pub(crate) use self::levels::Counters;

use lowtide_rows::{Level, LossCounters, Queue, ServedCounters};

use crate::aqm::AqmVerdict;

/// One length of the system (queue plus packet in service).
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    ps: u64,
    arrivals: u64,
}

/// Packets that were marked, dropped or lost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rejections {
    pub(crate) marks: u64,
    /// Drops by a full buffer.
    pub(crate) overflow_drops: u64,
    pub(crate) aqm_drops: u64,
    /// Random losses.
    pub(crate) lost: u64,
    pub(crate) link_down_drops: u64,
}

impl Rejections {
    /// Counts the verdict of the marker.
    #[inline]
    pub(crate) fn judged(&mut self, verdict: AqmVerdict) {
        match verdict {
            AqmVerdict::Forward => {}
            AqmVerdict::Mark => self.marks += 1,
            AqmVerdict::Drop => self.aqm_drops += 1,
        }
    }
}

/// Returns the statistics of a queue without its name and line. `bins` are by packets in the
/// system; reported lengths include the packet in service if `with_in_service`.
fn report(
    bins: impl Iterator<Item = Bin>,
    (packets, bytes, max_bytes): (u64, u64, u64),
    rejections: Rejections,
    with_in_service: bool,
) -> Queue {
    let mut levels: Vec<Level> = Vec::new();
    let mut busy_ps = 0;
    for (in_system, bin) in (0_u32..).zip(bins) {
        if in_system > 0 {
            busy_ps += bin.ps;
        }
        if bin.ps == 0 && bin.arrivals == 0 {
            continue;
        }
        let packets = if with_in_service { in_system } else { in_system.saturating_sub(1) };
        match levels.last_mut() {
            Some(last) if last.packets == packets => {
                last.time_ps += bin.ps;
                last.arrivals += bin.arrivals;
            }
            _ => levels.push(Level { packets, time_ps: bin.ps, arrivals: bin.arrivals }),
        }
    }
    let Rejections { marks, overflow_drops, aqm_drops, lost, link_down_drops } = rejections;
    Queue {
        served: ServedCounters { packets, bytes, marks, overflow_drops, aqm_drops },
        losses: LossCounters { random_losses: lost, link_down_drops },
        busy_ps,
        max_bytes,
        levels,
        ..Queue::default()
    }
}

/// Makes a histogram longer, so that it has that bin.
#[cold]
fn grow(bins: &mut Box<[Bin]>, index: usize) {
    let mut larger = vec![Bin::default(); (index + 1).next_power_of_two()];
    larger[..bins.len()].copy_from_slice(bins);
    *bins = larger.into_boxed_slice();
}
