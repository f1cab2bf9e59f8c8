//! Counts, in tests, the visited entries of the scoreboard and of its index. Binary searches are
//! not counted.

#[cfg(test)]
std::thread_local! {
    static VISITS: core::cell::Cell<u64> = const { core::cell::Cell::new(0) };
}

/// Counts one visited entry.
#[inline]
pub(crate) fn count_visit() {
    #[cfg(test)]
    VISITS.with(|steps| steps.set(steps.get() + 1));
}

/// Entries visited since the last call, on this thread.
#[cfg(test)]
pub(crate) fn take_visits() -> u64 {
    VISITS.with(core::cell::Cell::take)
}
