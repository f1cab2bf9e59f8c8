//! A window that one thread does for all regions, in the order of all events.

use lowtide_units::Instant;

use super::{Conductor, Region, Share};
use crate::Scheduler;
use crate::pending::time_of;

/// Handles all events before `until` in order; stops after the one with which `awaited` things are over, and
/// then says so.
pub(super) fn merge<R: Region, C: Conductor<R>>(
    shares: &mut [&mut Share<R>],
    (conductor, agenda): (&mut C, &mut Scheduler),
    until: Instant,
    awaited: Option<usize>,
) -> bool {
    let mut over: usize = shares.iter().map(|s| s.region.over()).sum();
    loop {
        // Who is next, and up to where it stays so.
        let own = agenda.first_place();
        let (mut next, mut first, mut second) = (None, own, None);
        for (i, share) in shares.iter_mut().enumerate() {
            let key = share.sched.first_place();
            if earlier(key, first) {
                (next, first, second) = (Some(i), key, first);
            } else if earlier(key, second) {
                second = key;
            }
        }
        if first.is_none_or(|key| time_of(key) >= until) {
            return false;
        }
        let Some(next) = next else {
            if let Some((now, entity)) = agenda.pop() {
                let pending = |s: &&mut Share<R>| !s.sched.is_empty() || s.region.waits();
                let busy = !agenda.is_empty() || shares.iter().any(pending);
                conductor.handle(now, entity, shares, busy, agenda);
            }
            continue;
        };
        let Share { region, sched } = &mut *shares[next];
        let before = region.over();
        while let Some((now, entity)) = sched.pop() {
            region.handle(now, entity, sched);
            let new = region.over() - before;
            if awaited.is_some_and(|all| over + new >= all) {
                return true;
            }
            let key = sched.first_place();
            if !earlier(key, second) || key.is_none_or(|key| time_of(key) >= until) {
                over += new;
                break;
            }
        }
    }
}

fn earlier(key: Option<u128>, than: Option<u128>) -> bool {
    key.is_some_and(|key| than.is_none_or(|than| key < than))
}
