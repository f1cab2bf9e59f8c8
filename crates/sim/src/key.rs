//! The number that a pending event is kept as: it sorts as events do ([`crate::Scheduler`]).

use lowtide_units::Instant;

/// When the event of a key comes.
pub(crate) fn time_of(key: u128) -> Instant {
    Instant::from_ps((key >> 64) as u64)
}
