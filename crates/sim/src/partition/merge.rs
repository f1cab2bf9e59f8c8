//! A window that one thread does for all regions, in the order of all events.

use lowtide_units::Instant;

use super::{GlobalWorld, LogicalProcess, ShardWorld};
use crate::Scheduler;
use crate::pending::time_of;

/// Handles all events before `until` in order; stops after the one with which `awaited` things are over, and
/// then says so.
pub(super) fn merge<R: ShardWorld, C: GlobalWorld<R>>(
    shares: &mut [&mut LogicalProcess<R>],
    (conductor, agenda): (&mut C, &mut Scheduler),
    until: Instant,
    awaited: Option<usize>,
) -> bool {
    let mut over: usize = shares.iter().map(|s| s.shard.completed()).sum();
    loop {
        // Who is next, and up to where it stays so.
        let own = agenda.first_key();
        let (mut next, mut first, mut second) = (None, own, None);
        for (i, share) in shares.iter_mut().enumerate() {
            let key = share.sched.first_key();
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
                let pending =
                    |s: &&mut LogicalProcess<R>| !s.sched.is_empty() || s.shard.has_exports();
                let busy = !agenda.is_empty() || shares.iter().any(pending);
                conductor.handle(now, entity, shares, busy, agenda);
            }
            continue;
        };
        let LogicalProcess { shard: region, sched } = &mut *shares[next];
        let before = region.completed();
        while let Some((now, entity)) = sched.pop() {
            region.handle(now, entity, sched);
            let new = region.completed() - before;
            if awaited.is_some_and(|all| over + new >= all) {
                return true;
            }
            let key = sched.first_key();
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
