//! How the system runs the thread: its priority, its core, the slack of its timers.

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl::set_timerslack;
use nix::unistd::Pid;
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// What is wished for the thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ThreadConfig {
    /// Of SCHED_FIFO, 1 to 99.
    pub(crate) priority: Option<u8>,
    pub(crate) cpu_core: Option<usize>,
}

/// Does for this thread what can be done of `wish`, and says what came of it.
pub(crate) fn apply(wish: ThreadConfig) -> String {
    let mut said = Vec::new();
    said.push(match wish.priority {
        None => "normal priority".to_owned(),
        Some(priority) => match real_time(priority) {
            Ok(()) => format!("SCHED_FIFO {priority}"),
            Err(why) => format!("normal priority: SCHED_FIFO {priority} was refused ({why})"),
        },
    });
    if let Some(core) = wish.cpu_core {
        let mut set = CpuSet::new();
        let pinned = set.set(core).and_then(|()| sched_setaffinity(Pid::from_raw(0), &set));
        said.push(match pinned {
            Ok(()) => format!("on core {core}"),
            Err(why) => format!("core {core} was refused ({why})"),
        });
    }
    // The kernel may wake a thread this much too late to save wake-ups: 50 us unless told otherwise.
    if set_timerslack(1).is_err() {
        said.push("timers may be 50 us late".to_owned());
    }
    said.join(", ")
}

fn real_time(priority: u8) -> Result<(), String> {
    let value = ThreadPriorityValue::try_from(priority)?;
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    let wish = ThreadPriority::Crossplatform(value);
    set_thread_priority_and_policy(thread_native_id(), wish, policy).map_err(|e| e.to_string())
}
