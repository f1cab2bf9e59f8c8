//! A window that one thread executes for all shards, in the global event order.

use lowtide_units::Instant;

use super::{GlobalWorld, LogicalProcess, ShardWorld};
use crate::Scheduler;
use crate::pending::time_of;

/// Handles all events before `until` in order. Returns true if it stopped after the event that
/// completed the last of `awaited` items.
pub(super) fn merge<R: ShardWorld, C: GlobalWorld<R>>(
    processes: &mut [&mut LogicalProcess<R>],
    (global, global_sched): (&mut C, &mut Scheduler),
    until: Instant,
    awaited: Option<usize>,
) -> bool {
    let mut over: usize = processes.iter().map(|s| s.shard.completed()).sum();
    loop {
        // The process of the next event, and the key up to which it remains the next.
        let own = global_sched.first_key();
        let (mut next, mut first, mut second) = (None, own, None);
        for (i, process) in processes.iter_mut().enumerate() {
            let key = process.sched.first_key();
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
            if let Some((now, entity)) = global_sched.pop() {
                let pending =
                    |s: &&mut LogicalProcess<R>| !s.sched.is_empty() || s.shard.has_exports();
                let busy = !global_sched.is_empty() || processes.iter().any(pending);
                global.handle(now, entity, processes, busy, global_sched);
            }
            continue;
        };
        let LogicalProcess { shard, sched } = &mut *processes[next];
        let before = shard.completed();
        while let Some((now, entity)) = sched.pop() {
            shard.handle(now, entity, sched);
            let new = shard.completed() - before;
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
