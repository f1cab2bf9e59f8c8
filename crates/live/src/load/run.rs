//! The client: many connections, sampled in intervals.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use lowtide_sockets::ConnInfo;
use lowtide_units::{Duration, Instant};

use super::exchange::{Progress, TransferOutcome, run_client};
use super::{Amount, ByteStream, TransferDirection, TransferRequest};
use crate::clock::{Clock, std_duration};

/// One connection of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoadFlow {
    /// Delay of its opening after the start of the client.
    pub start: Duration,
    /// Direction of the data.
    pub direction: TransferDirection,
    /// Amount of data.
    pub amount: Amount,
    /// Bytes per write.
    pub write_size: u32,
}

/// Configuration of a client.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    /// Its connections.
    pub flows: Vec<LoadFlow>,
    /// Sampling interval; zero for none.
    pub interval: Duration,
    /// Seed of the data.
    pub seed: u64,
}

/// Report of a connection that has ended.
#[derive(Clone, Debug)]
pub struct StreamReport {
    /// Its number, from 1.
    pub number: usize,
    /// The address of this end.
    pub local: Option<SocketAddr>,
    /// The peer's address.
    pub peer: Option<SocketAddr>,
    /// Direction of the data; `None` if no request arrived.
    pub direction: Option<TransferDirection>,
    /// Time of its opening since the start of the client, or of its arrival at a server.
    pub start: Duration,
    /// Bytes of data that this end wrote or read.
    pub bytes: u64,
    /// Time from before the connection was opened until all data was confirmed.
    pub took: Duration,
    /// Checksums of both ends.
    pub outcome: Option<TransferOutcome>,
    /// Its error, if it failed.
    pub error: Option<String>,
    /// Snapshot of the connection.
    pub info: Option<ConnInfo>,
}

/// One connection in one interval.
#[derive(Clone, Copy, Debug)]
pub struct FlowSample {
    /// Its number, from 1.
    pub number: usize,
    /// Direction of the data.
    pub direction: TransferDirection,
    /// Bytes of data in the interval.
    pub bytes: u64,
    /// The client's address.
    pub local: Option<SocketAddr>,
    /// Snapshot of the connection at the end of the interval.
    pub info: Option<ConnInfo>,
}

/// A sampling interval.
#[derive(Clone, Debug)]
pub struct LoadInterval {
    /// Its start, since the start of the client.
    pub from: Duration,
    /// Its end, since the start of the client.
    pub to: Duration,
    /// Samples of the open connections.
    pub samples: Vec<FlowSample>,
}

impl LoadInterval {
    /// Bytes of data of all connections.
    pub fn bytes(&self) -> u64 {
        self.samples.iter().map(|s| s.bytes).sum()
    }
}

/// Report of a client.
#[derive(Clone, Debug)]
pub struct LoadReport {
    /// All intervals.
    pub intervals: Vec<LoadInterval>,
    /// All connections.
    pub streams: Vec<StreamReport>,
    /// Duration of the whole run.
    pub took: Duration,
}

impl LoadReport {
    /// Whether all data of every connection was confirmed.
    pub fn all_verified(&self) -> bool {
        let agrees = |s: &StreamReport| s.outcome.is_some_and(|o| o.checksums_match());
        !self.streams.is_empty() && self.streams.iter().all(agrees)
    }

    /// Bytes of data of all connections.
    pub fn bytes(&self) -> u64 {
        self.streams.iter().map(|s| s.bytes).sum()
    }
}

/// Opens one more connection.
pub type OpenFn<'a> = dyn Fn() -> io::Result<Arc<dyn ByteStream>> + Sync + 'a;

/// Opens each connection of `load` with `open` at its start time and transfers the data. Calls
/// `each` for every interval before it is stored. Ends early when `stop` is set; connections not
/// opened by then are not.
pub fn run(
    load: &LoadPlan,
    open: &OpenFn<'_>,
    stop: &AtomicBool,
    each: &mut dyn FnMut(&mut LoadInterval),
) -> LoadReport {
    let clock = Clock::start();
    let running = AtomicUsize::new(load.flows.len());
    let handles: Vec<FlowHandle> = load.flows.iter().map(|_| FlowHandle::default()).collect();
    let mut intervals = Vec::new();
    let streams = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (index, (flow, handle)) in load.flows.iter().zip(&handles).enumerate() {
            let running = &running;
            let seed = load.seed.wrapping_add(index as u64);
            let work = move || {
                let report = run_flow(flow, seed, index, open, handle, clock);
                running.fetch_sub(1, Ordering::Release);
                report
            };
            threads.push((index, std::thread::Builder::new().spawn_scoped(scope, work)));
            if threads.last().is_some_and(|(_, t)| t.is_err()) {
                running.fetch_sub(1, Ordering::Release);
            }
        }
        monitor_flows(load, clock, &running, &handles, stop, |mut interval| {
            each(&mut interval);
            intervals.push(interval);
        });
        let finish =
            |(index, thread): (usize, io::Result<std::thread::ScopedJoinHandle<'_, _>>)| {
                let why = match thread {
                    Ok(thread) => match thread.join() {
                        Ok(report) => return report,
                        Err(_) => "its thread panicked".to_owned(),
                    },
                    Err(e) => format!("cannot start a thread: {e}"),
                };
                failed_report(index, clock.now(), why)
            };
        threads.into_iter().map(finish).collect()
    });
    LoadReport { intervals, streams, took: clock.now().since_start() }
}

/// State of a connection shared with the monitor.
#[derive(Default)]
struct FlowHandle {
    progress: Progress,
    stream: std::sync::OnceLock<Arc<dyn ByteStream>>,
}

impl FlowHandle {
    /// Waits until `at`. Returns false if the run is stopped before.
    fn wait(&self, at: Instant, clock: Clock) -> bool {
        loop {
            let left = at.saturating_since(clock.now());
            if left == Duration::ZERO {
                return true;
            }
            if self.progress.stop.load(Ordering::Relaxed) {
                return false;
            }
            std::thread::sleep(std_duration(left.min(POLL_INTERVAL)));
        }
    }
}

fn failed_report(index: usize, start: Instant, why: String) -> StreamReport {
    StreamReport {
        number: index + 1,
        local: None,
        peer: None,
        direction: None,
        start: start.since_start(),
        bytes: 0,
        took: Duration::ZERO,
        outcome: None,
        error: Some(why),
        info: None,
    }
}

fn run_flow(
    flow: &LoadFlow,
    seed: u64,
    index: usize,
    open: &OpenFn<'_>,
    handle: &FlowHandle,
    clock: Clock,
) -> StreamReport {
    if !handle.wait(Instant::ZERO + flow.start, clock) {
        return failed_report(
            index,
            clock.now(),
            "the run was stopped before its start".to_owned(),
        );
    }
    let start = clock.now();
    let stream = match open() {
        Ok(stream) => handle.stream.get_or_init(|| stream),
        Err(e) => return failed_report(index, start, e.to_string()),
    };
    let LoadFlow { direction, amount, write_size, .. } = *flow;
    let request = TransferRequest { direction, amount, seed, write_size };
    let (local, peer) = (stream.local().ok(), stream.peer().ok());
    let result = run_client(&**stream, &request, &handle.progress);
    let took = clock.now().saturating_since(start);
    let (outcome, error) = match result {
        Ok(outcome) => (Some(outcome), None),
        Err(e) => (None, Some(e.to_string())),
    };
    StreamReport {
        number: index + 1,
        local,
        peer,
        direction: Some(direction),
        start: start.since_start(),
        bytes: handle.progress.bytes.load(Ordering::Relaxed),
        took,
        outcome,
        error,
        info: stream.info(),
    }
}

/// Longest interval between checks.
const POLL_INTERVAL: Duration = Duration::from_ms(20);

/// Time for servers to confirm data after a stop; then connections are reset.
const GRACE: Duration = Duration::from_secs(10);

fn monitor_flows(
    load: &LoadPlan,
    clock: Clock,
    running: &AtomicUsize,
    handles: &[FlowHandle],
    stop: &AtomicBool,
    mut each: impl FnMut(LoadInterval),
) {
    let (mut before, mut stopped) = (vec![0; handles.len()], None);
    let mut from = Instant::ZERO;
    loop {
        let finished = running.load(Ordering::Acquire) == 0;
        let now = clock.now();
        let due = load.interval > Duration::ZERO && now.saturating_since(from) >= load.interval;
        // A remainder shorter than a tenth of an interval is not meaningful.
        let remainder = finished && now.saturating_since(from) > load.interval / 10;
        if due || (remainder && load.interval > Duration::ZERO) {
            let samples =
                handles.iter().zip(&mut before).enumerate().filter_map(|(index, (w, old))| {
                    let direction = load.flows.get(index)?.direction;
                    let stream = w.stream.get()?;
                    let (info, local) = (stream.info(), stream.local().ok());
                    let all = w.progress.bytes.load(Ordering::Relaxed);
                    let bytes = all - std::mem::replace(old, all);
                    Some(FlowSample { number: index + 1, direction, bytes, local, info })
                });
            let samples = samples.collect();
            each(LoadInterval { from: from.since_start(), to: now.since_start(), samples });
            from = now;
        }
        if finished {
            return;
        }
        if stop.load(Ordering::Relaxed) {
            let grace_over =
                clock.now().saturating_since(*stopped.get_or_insert(clock.now())) > GRACE;
            for handle in handles {
                handle.progress.stop.store(true, Ordering::Relaxed);
                if let Some(stream) = handle.stream.get().filter(|_| grace_over) {
                    stream.abort();
                }
            }
        }
        let left = load.interval.saturating_sub(clock.now().saturating_since(from));
        let pause =
            if load.interval > Duration::ZERO { left.min(POLL_INTERVAL) } else { POLL_INTERVAL };
        std::thread::sleep(std_duration(pause.min(POLL_INTERVAL)));
    }
}
