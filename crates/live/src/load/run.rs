//! Many connections at the client's side, and what is seen of them in intervals.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use lowtide_units::{Duration, Instant};

use super::exchange::{Progress, TransferOutcome, run_client};
use super::{Amount, ByteStream, TransferDirection, TransferRequest};
use crate::clock::{Clock, std_duration};
use crate::stack::ConnInfo;

/// One connection of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoadFlow {
    /// It is opened so long after the client began.
    pub start: Duration,
    /// Who sends.
    pub direction: TransferDirection,
    /// How much.
    pub amount: Amount,
    /// Bytes of one write.
    pub write_size: u32,
}

/// What a client does.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    /// Its connections.
    pub flows: Vec<LoadFlow>,
    /// How often it is looked at; zero for only at the end.
    pub interval: Duration,
    /// Which bytes are sent.
    pub seed: u64,
}

/// One connection, when it is over.
#[derive(Clone, Debug)]
pub struct StreamReport {
    /// Which one, from 1.
    pub number: usize,
    /// The other end.
    pub peer: Option<SocketAddr>,
    /// Who sent; unknown where no request came.
    pub direction: Option<TransferDirection>,
    /// When it was opened, since the client began; at a server when it came.
    pub start: Duration,
    /// Bytes of data that this end wrote or read.
    pub bytes: u64,
    /// How long it took, from before the connection was opened until everything was confirmed.
    pub took: Duration,
    /// What both ends say of the data.
    pub outcome: Option<TransferOutcome>,
    /// Why it failed.
    pub error: Option<String>,
    /// What its transport shows.
    pub info: Option<ConnInfo>,
}

/// One connection in one interval.
#[derive(Clone, Copy, Debug)]
pub struct FlowSample {
    /// Which one, from 1.
    pub number: usize,
    /// Who sends.
    pub direction: TransferDirection,
    /// Bytes of data in the interval.
    pub bytes: u64,
    /// The client's address.
    pub local: Option<SocketAddr>,
    /// What its transport showed at the end of it.
    pub info: Option<ConnInfo>,
}

/// A span of time.
#[derive(Clone, Debug)]
pub struct LoadInterval {
    /// Its begin, since the client's.
    pub from: Duration,
    /// Its end.
    pub to: Duration,
    /// Connections that were open.
    pub samples: Vec<FlowSample>,
}

impl LoadInterval {
    /// Bytes of all connections.
    pub fn bytes(&self) -> u64 {
        self.samples.iter().map(|s| s.bytes).sum()
    }
}

/// A client's work, done.
#[derive(Clone, Debug)]
pub struct LoadReport {
    /// Every interval.
    pub intervals: Vec<LoadInterval>,
    /// Every connection.
    pub streams: Vec<StreamReport>,
    /// How long all of it took.
    pub took: Duration,
}

impl LoadReport {
    /// Every byte of every connection was confirmed.
    pub fn all_verified(&self) -> bool {
        let agrees = |s: &StreamReport| s.outcome.is_some_and(|o| o.checksums_match());
        !self.streams.is_empty() && self.streams.iter().all(agrees)
    }

    /// Bytes of data of all connections.
    pub fn bytes(&self) -> u64 {
        self.streams.iter().map(|s| s.bytes).sum()
    }
}

/// How one more connection is opened.
pub type OpenFn<'a> = dyn Fn() -> io::Result<Arc<dyn ByteStream>> + Sync + 'a;

/// Opens the connections of `load` with `open` when each is to begin, moves the data, and tells `each` of every interval, before it
/// is kept. Ends early when `stop` is set; what has not begun by then does not.
pub fn run(
    load: &LoadPlan,
    open: &OpenFn<'_>,
    stop: &AtomicBool,
    each: &mut dyn FnMut(&mut LoadInterval),
) -> LoadReport {
    let clock = Clock::start();
    let running = AtomicUsize::new(load.flows.len());
    let pipes: Vec<FlowHandle> = load.flows.iter().map(|_| FlowHandle::default()).collect();
    let mut intervals = Vec::new();
    let streams = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (index, (flow, watched)) in load.flows.iter().zip(&pipes).enumerate() {
            let running = &running;
            let seed = load.seed.wrapping_add(index as u64);
            let work = move || {
                let report = run_flow(flow, seed, index, open, watched, clock);
                running.fetch_sub(1, Ordering::Release);
                report
            };
            threads.push((index, std::thread::Builder::new().spawn_scoped(scope, work)));
            if threads.last().is_some_and(|(_, t)| t.is_err()) {
                running.fetch_sub(1, Ordering::Release);
            }
        }
        monitor_flows(load, clock, &running, &pipes, stop, |mut interval| {
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

/// What is seen of one connection from outside of its thread.
#[derive(Default)]
struct FlowHandle {
    progress: Progress,
    stream: std::sync::OnceLock<Arc<dyn ByteStream>>,
}

impl FlowHandle {
    /// Waits until `at`; false when all is stopped before.
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
    watched: &FlowHandle,
    clock: Clock,
) -> StreamReport {
    if !watched.wait(Instant::ZERO + flow.start, clock) {
        return failed_report(
            index,
            clock.now(),
            "it had not begun when all was stopped".to_owned(),
        );
    }
    let start = clock.now();
    let pipe = match open() {
        Ok(pipe) => watched.stream.get_or_init(|| pipe),
        Err(e) => return failed_report(index, start, e.to_string()),
    };
    let LoadFlow { direction: way, amount, write_size: piece, .. } = *flow;
    let request = TransferRequest { direction: way, amount, seed, write_size: piece };
    let peer = pipe.peer().ok();
    let result = run_client(&**pipe, &request, &watched.progress);
    let took = clock.now().saturating_since(start);
    let (outcome, error) = match result {
        Ok(outcome) => (Some(outcome), None),
        Err(e) => (None, Some(e.to_string())),
    };
    StreamReport {
        number: index + 1,
        peer,
        direction: Some(way),
        start: start.since_start(),
        bytes: watched.progress.bytes.load(Ordering::Relaxed),
        took,
        outcome,
        error,
        info: pipe.info(),
    }
}

/// How long after it began to look again, whatever the interval.
const POLL_INTERVAL: Duration = Duration::from_ms(20);

/// How long servers may take to confirm what they got when all is stopped; then connections are reset.
const GRACE: Duration = Duration::from_secs(10);

fn monitor_flows(
    load: &LoadPlan,
    clock: Clock,
    running: &AtomicUsize,
    pipes: &[FlowHandle],
    stop: &AtomicBool,
    mut each: impl FnMut(LoadInterval),
) {
    let (mut before, mut stopped) = (vec![0; pipes.len()], None);
    let mut from = Instant::ZERO;
    loop {
        let over = running.load(Ordering::Acquire) == 0;
        let now = clock.now();
        let due = load.interval > Duration::ZERO && now.saturating_since(from) >= load.interval;
        // A rest that is shorter than a tenth of an interval says nothing.
        let rest = over && now.saturating_since(from) > load.interval / 10;
        if due || (rest && load.interval > Duration::ZERO) {
            let samples =
                pipes.iter().zip(&mut before).enumerate().filter_map(|(index, (w, old))| {
                    let way = load.flows.get(index)?.direction;
                    let pipe = w.stream.get()?;
                    let (info, local) = (pipe.info(), pipe.local().ok());
                    let all = w.progress.bytes.load(Ordering::Relaxed);
                    let bytes = all - std::mem::replace(old, all);
                    Some(FlowSample { number: index + 1, direction: way, bytes, local, info })
                });
            let samples = samples.collect();
            each(LoadInterval { from: from.since_start(), to: now.since_start(), samples });
            from = now;
        }
        if over {
            return;
        }
        if stop.load(Ordering::Relaxed) {
            let late = clock.now().saturating_since(*stopped.get_or_insert(clock.now())) > GRACE;
            for watched in pipes {
                watched.progress.stop.store(true, Ordering::Relaxed);
                if let Some(pipe) = watched.stream.get().filter(|_| late) {
                    pipe.abort();
                }
            }
        }
        let left = load.interval.saturating_sub(clock.now().saturating_since(from));
        let nap =
            if load.interval > Duration::ZERO { left.min(POLL_INTERVAL) } else { POLL_INTERVAL };
        std::thread::sleep(std_duration(nap.min(POLL_INTERVAL)));
    }
}
