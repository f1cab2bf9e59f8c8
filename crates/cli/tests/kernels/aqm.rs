//! Our AQMs beside the kernel's, by counts: both get one arrival sequence behind one token bucket.

use std::collections::VecDeque;
use std::time;

use lowtide_net::aqm::{Aqm, AqmVerdict, DequeueInfo, EnqueueInfo, MarkSpec, Marker, MarkerSetup};
use lowtide_net::{Framing, Occupancy};
use lowtide_sim::Seed;
use lowtide_units::{Duration, Instant, Rate};
use lowtide_wire::Ecn;
use serde_json::Value;

/// Rate of the token bucket, and its size in bytes: one packet, so that it never sends two at once.
pub(crate) const RATE_MBIT: u64 = 10;
pub(crate) const BURST: u64 = 1_100;
/// Payload of a datagram.
pub(crate) const PAYLOAD: usize = 1_000;
/// IP bytes of a packet.
const SIZE: u32 = PAYLOAD as u32 + 28;
/// Bytes that `tbf` counts: with the Ethernet header.
const FRAME: u64 = SIZE as u64 + 14;
/// Runs of a random marker of ours; their mean is compared.
const SEEDS: u64 = 20;

/// A discipline of the kernel and our marker with the same parameters.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Arguments of `tc qdisc`.
    pub(crate) qdisc: &'static str,
    /// Marker and parameters.
    marker: (&'static str, &'static [(&'static str, &'static str)]),
    /// Packets are ECN-capable.
    pub(crate) ect: bool,
    /// Random: 1; deterministic: 0; marks with uniformly distributed distances: 1/3. The variance
    /// of a count n is this times n.
    spread: f64,
}

const CODEL: &[(&str, &str)] = &[("target", "5 ms"), ("interval", "100 ms")];
const CODEL_DROP: &[(&str, &str)] =
    &[("target", "5 ms"), ("interval", "100 ms"), ("signal", "drop")];
/// Linux: a target of 15 ms, alpha 2/16 and beta 20/16. It updates every 20 ms: `tupdate 15ms` is
/// rounded up to 4 ticks of 4 ms, and a timer of the kernel's wheel ends a tick later.
const PIE: &[(&str, &str)] = &[("target", "15 ms"), ("period", "20 ms"), ("derandomise", "true")];
const PIE_DROP: &[(&str, &str)] =
    &[("target", "15 ms"), ("period", "20 ms"), ("derandomise", "true"), ("signal", "drop")];
/// `burst 34` with these thresholds is a weight of 2^-5 in the message that `tc` sends.
const RED: &[(&str, &str)] =
    &[("min", "20000 B"), ("max", "60000 B"), ("max-p", "10 %"), ("weight", "5")];
const RED_DROP: &[(&str, &str)] = &[
    ("min", "20000 B"),
    ("max", "60000 B"),
    ("max-p", "10 %"),
    ("weight", "5"),
    ("signal", "drop"),
];

pub(crate) const CASES: [Case; 8] = [
    Case {
        name: "codel, drops",
        qdisc: "codel limit 20000 target 5ms interval 100ms noecn",
        marker: ("codel", CODEL_DROP),
        ect: false,
        spread: 0.0,
    },
    Case {
        name: "codel, marks",
        qdisc: "codel limit 20000 target 5ms interval 100ms ecn",
        marker: ("codel", CODEL),
        ect: true,
        spread: 0.0,
    },
    Case {
        name: "fq_codel, one flow, drops",
        qdisc: "fq_codel limit 20000 target 5ms interval 100ms memory_limit 256mb noecn",
        marker: ("codel", CODEL_DROP),
        ect: false,
        spread: 0.0,
    },
    Case {
        name: "fq_codel, one flow, marks",
        qdisc: "fq_codel limit 20000 target 5ms interval 100ms memory_limit 256mb ecn",
        marker: ("codel", CODEL),
        ect: true,
        spread: 0.0,
    },
    Case {
        name: "pie, drops",
        qdisc: "pie limit 20000 target 15ms tupdate 15ms alpha 2 beta 20 noecn",
        marker: ("pie", PIE_DROP),
        ect: false,
        spread: 1.0,
    },
    Case {
        name: "pie, marks",
        qdisc: "pie limit 20000 target 15ms tupdate 15ms alpha 2 beta 20 ecn",
        marker: ("pie", PIE),
        ect: true,
        spread: 1.0,
    },
    Case {
        name: "red, drops",
        qdisc: "red limit 8000000 min 20000 max 60000 avpkt 1000 burst 34 bandwidth 10mbit \
                probability 0.1",
        marker: ("red", RED_DROP),
        ect: false,
        spread: 1.0 / 3.0,
    },
    Case {
        name: "red, marks",
        qdisc: "red limit 8000000 min 20000 max 60000 avpkt 1000 burst 34 bandwidth 10mbit \
                probability 0.1 ecn",
        marker: ("red", RED),
        ect: true,
        spread: 1.0 / 3.0,
    },
];

/// Load of each second, percent of the line: overload, a pause in which the queue drains, a light
/// overload that AQMs control, and rests.
const LOAD: [u64; 8] = [125, 125, 20, 105, 105, 105, 50, 102];

/// Time from arrival `packet - 1`, at `since` the start, to arrival `packet`. `None` at the end.
pub(crate) fn gap(packet: u64, since: time::Duration) -> Option<time::Duration> {
    let load = *LOAD.get(since.as_secs() as usize)?;
    let mean_ns = FRAME * 8 * 1_000 * 100 / (RATE_MBIT * load);
    // Uniform between half and one and a half of the mean, by a multiplicative hash.
    let draw = packet.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54;
    Some(time::Duration::from_nanos(mean_ns / 2 + mean_ns * draw / 1_024))
}

/// Counts of a queue.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Counts {
    marks: f64,
    drops: f64,
}

/// The marker behind `tbf`: the bucket takes the next packet from the discipline as soon as it has
/// sent one, and holds it until it has the tokens. Only RED looks at it without taking it.
struct Shaped {
    marker: Marker,
    takes: bool,
    queue: VecDeque<Instant>,
    held: bool,
    /// The bucket is full from then on.
    full_at: Instant,
    idle_since: Instant,
    clock: Instant,
    ecn: Ecn,
    counts: Counts,
}

fn occupancy(packets: usize) -> Occupancy {
    let packets = packets as u32;
    Occupancy { packets, bytes: u64::from(packets) * FRAME }
}

/// Time of `bytes` at the rate.
fn time_of(bytes: u64) -> Duration {
    Duration::from_ps(bytes * 8 * 1_000_000 / RATE_MBIT)
}

impl Shaped {
    fn new(case: &Case, seed: u64) -> Self {
        let spec = MarkSpec::new(case.marker.0, case.marker.1).unwrap();
        let rate = Rate::from_bps(RATE_MBIT * 1_000_000).unwrap();
        Self {
            marker: spec.config().start(&MarkerSetup::new(rate, Framing::Ip, Seed(seed))),
            takes: spec.name() != "red",
            queue: VecDeque::new(),
            held: false,
            full_at: Instant::ZERO,
            idle_since: Instant::ZERO,
            clock: Instant::ZERO,
            ecn: if case.ect { Ecn::Ect0 } else { Ecn::NotEct },
            counts: Counts::default(),
        }
    }

    fn backlog(&self) -> Occupancy {
        occupancy(self.queue.len())
    }

    fn count(&mut self, verdict: AqmVerdict) {
        match verdict {
            AqmVerdict::Forward => {}
            AqmVerdict::Mark => self.counts.marks += 1.0,
            AqmVerdict::Drop => self.counts.drops += 1.0,
        }
    }

    /// Takes the next packet from the discipline at `self.clock`.
    fn take(&mut self) {
        self.marker.advance(self.clock, self.backlog());
        while let Some(arrival) = self.queue.pop_front() {
            let packet = DequeueInfo {
                backlog: self.backlog(),
                sojourn: self.clock.saturating_since(arrival),
                size: SIZE,
                ecn: self.ecn,
            };
            let verdict = self.marker.on_dequeue(self.clock, &packet);
            self.count(verdict);
            if verdict != AqmVerdict::Drop {
                self.held = true;
                return;
            }
            if self.queue.is_empty() {
                self.marker.on_empty();
            }
        }
    }

    /// Sends until `now`.
    fn serve(&mut self, now: Instant) {
        loop {
            if !self.held && self.takes {
                self.take();
            }
            let waiting = self.held || !self.queue.is_empty();
            // A frame needs its tokens of a bucket that is full at `full_at`.
            let ready = (self.full_at + time_of(FRAME)).saturating_since(Instant::ZERO);
            let ready = Instant::ZERO + ready.saturating_sub(time_of(BURST));
            let at = ready.max(self.clock);
            if !waiting || at > now {
                return;
            }
            if !self.held {
                self.queue.pop_front();
            }
            self.held = false;
            self.clock = at;
            self.full_at = self.full_at.max(at) + time_of(FRAME);
            if self.queue.is_empty() {
                self.idle_since = at;
            }
        }
    }

    fn arrive(&mut self, now: Instant) {
        self.serve(now);
        self.clock = now;
        self.marker.advance(now, self.backlog());
        let idle_since = if self.queue.is_empty() { self.idle_since } else { now };
        let packet = EnqueueInfo {
            // The kernel's backlog has the packet that the bucket holds.
            backlog: occupancy(self.queue.len() + usize::from(self.held)),
            size: SIZE,
            ecn: self.ecn,
            tx_start: now,
            idle_since,
        };
        let verdict = self.marker.on_enqueue(now, &packet);
        self.count(verdict);
        if verdict != AqmVerdict::Drop {
            self.queue.push_back(now);
            self.serve(now);
        }
    }
}

fn ours(case: &Case, arrivals: &[u64]) -> Counts {
    let seeds = if case.spread > 0.0 { SEEDS } else { 1 };
    let mut sum = Counts::default();
    for seed in 0..seeds {
        let mut queue = Shaped::new(case, seed);
        for us in arrivals {
            queue.arrive(Instant::ZERO + Duration::from_us(*us));
        }
        queue.serve(Instant::ZERO + Duration::from_secs(100));
        sum.marks += queue.counts.marks;
        sum.drops += queue.counts.drops;
    }
    Counts { marks: sum.marks / seeds as f64, drops: sum.drops / seeds as f64 }
}

/// Largest difference of a count. Signals of a deterministic marker are placed to a packet time,
/// and the kernel's square root is an approximation: 3 %, at least 3. A random one may differ by
/// three standard deviations of the kernel's single run and our mean.
fn tolerance(case: &Case, count: f64) -> f64 {
    let deviation = (case.spread * count * (1.0 + 1.0 / SEEDS as f64)).sqrt();
    if case.spread > 0.0 { (3.0 * deviation).max(3.0) } else { (0.03 * count).max(3.0) }
}

/// Compares the counts of a case in a guest. Returns what was measured, or why it is wrong.
pub(crate) fn judge(case: &Case, line: &Value) -> Result<String, String> {
    let arrivals: Vec<u64> = serde_json::from_value(line["arrivals"].clone()).unwrap();
    let queue = &line["queue"];
    let count = |key: &str| queue[key].as_f64().unwrap_or(0.0);
    let kernel = Counts { marks: count("marked") + count("ecn_mark"), drops: count("drops") };
    let ours = ours(case, &arrivals);
    let text = format!(
        "{} arrivals: marks {} and ours {:.1}, drops {} and ours {:.1}",
        arrivals.len(),
        kernel.marks,
        ours.marks,
        kernel.drops,
        ours.drops
    );
    let differs =
        |kernel: f64, ours: f64| (kernel - ours).abs() > tolerance(case, kernel.max(ours));
    if kernel.marks + kernel.drops < 10.0 {
        return Err(format!("{text}: too few signals: {queue}"));
    }
    if differs(kernel.marks, ours.marks) || differs(kernel.drops, ours.drops) {
        return Err(text);
    }
    Ok(text)
}
