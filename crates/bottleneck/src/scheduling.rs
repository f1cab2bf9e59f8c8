//! Scheduling of the thread: priority, core, timer slack.

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl::set_timerslack;
use nix::unistd::Pid;
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// Requested scheduling of the thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ThreadConfig {
    /// Priority of SCHED_FIFO, 1 to 99.
    pub(crate) priority: Option<u8>,
    pub(crate) cpu_core: Option<usize>,
}

/// Applies `config` to this thread as far as possible. Returns a description of the result.
pub(crate) fn apply(config: ThreadConfig) -> String {
    let mut results = Vec::new();
    results.push(match config.priority {
        None => "normal priority".to_owned(),
        Some(priority) => match real_time(priority) {
            Ok(()) => format!("SCHED_FIFO {priority}"),
            Err(why) => format!("normal priority: SCHED_FIFO {priority} was refused ({why})"),
        },
    });
    if let Some(core) = config.cpu_core {
        let mut set = CpuSet::new();
        let pinned = set.set(core).and_then(|()| sched_setaffinity(Pid::from_raw(0), &set));
        results.push(match pinned {
            Ok(()) => format!("on core {core}"),
            Err(why) => format!("core {core} was refused ({why})"),
        });
    }
    // By default the kernel may delay a wake-up by 50 us to save wake-ups.
    if set_timerslack(1).is_err() {
        results.push("timers may be 50 us late".to_owned());
    }
    results.join(", ")
}

fn real_time(priority: u8) -> Result<(), String> {
    let value = ThreadPriorityValue::try_from(priority)?;
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    let value = ThreadPriority::Crossplatform(value);
    set_thread_priority_and_policy(thread_native_id(), value, policy).map_err(|e| e.to_string())
}
