//! Collective communication: all-reduce, all-gather and all-to-all, as closed loops of ranks.
//!
//! ## Algorithm
//! Rank `i` is the `i`-th host of `from`. Connections are persistent, and a rank sends the next
//! bytes when it has received those on which they depend.
//!
//! - `ring-all-reduce`: `data` in n chunks; in each of 2 (n - 1) steps a rank sends one chunk to
//!   its successor: n - 1 steps of reduce-scatter, then n - 1 steps of all-gather.
//! - `ring-all-gather`: the last n - 1 of these steps.
//! - `tree-all-reduce`: one binary tree, rank i below rank (i - 1) / 2: a reduction to rank 0, then
//!   a broadcast.
//! - `all-to-all`: each rank sends `data` / n to every other at once. A dissemination barrier
//!   follows: in round k a rank notifies rank i + 2^k.
//!
//! `slices` cuts each chunk (of the tree: `data`), and a slice is forwarded as soon as it has
//! arrived. A rank begins its next iteration when its last one is complete, after `compute`.
//!
//! ## Source
//! P. Patarasu, X. Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations,
//! Journal of Parallel and Distributed Computing 69 (2), 2009. D. Hensgen, R. Finkel, U. Manber:
//! Two algorithms for barrier synchronization, International Journal of Parallel Programming 17
//! (1), 1988.

use lowtide_schema::DefaultValue::{Is, Required};
use lowtide_schema::{Param, ValueKind};
use lowtide_units::{Bytes, Duration, Instant};

use super::{
    Arrivals, HostSelection, Traffic, WorkloadArgs, WorkloadContext, WorkloadEntry, WorkloadError,
};
use crate::collective::{CollectiveSpec, Message, RankSpec, Step};
use crate::round_robin::START;
use crate::{Flow, WritePattern};

/// Bytes of a barrier's message.
const NOTIFICATION: u64 = 64;
/// Most messages of one iteration of all ranks, and most iterations of all ranks.
const MAX_MESSAGES: u64 = 4_000_000;

/// Registration.
pub static ENTRY: WorkloadEntry = WorkloadEntry {
    name: "collective",
    summary: "all-reduce, all-gather or all-to-all of ranks, each send after the data it needs",
    spec: "ring: Patarasu and Yuan 2009; barrier: Hensgen et al. 1988; tree and all-to-all: lowtide",
    host_selection: HostSelection::From,
    arrivals: Arrivals::Stated,
    params: &[
        Param {
            name: "operation",
            kind: ValueKind::Choice(&[
                "ring-all-reduce",
                "ring-all-gather",
                "tree-all-reduce",
                "all-to-all",
            ]),
            default: Is("ring-all-reduce"),
            doc: "The collective and its algorithm; the ranks are the hosts of `from`, in their order.",
            source: "ring: Patarasu and Yuan 2009; barrier: Hensgen et al. 1988; tree and all-to-all: lowtide",
        },
        Param {
            name: "data",
            kind: ValueKind::SIZE,
            default: Required,
            doc: "Bytes of the buffer of each rank; of `ring-all-gather` the gathered result.",
            source: "Patarasu and Yuan 2009",
        },
        Param {
            name: "slices",
            kind: ValueKind::Count { min: 1, max: 10_000 },
            default: Is("1"),
            doc: "Parts of a chunk (of the tree: of `data`), each forwarded when it has arrived.",
            source: "lowtide",
        },
        Param {
            name: "iterations",
            kind: ValueKind::Count { min: 1, max: 1_000_000 },
            default: Is("20"),
            doc: "Iterations of each rank, one after another over the same connections.",
            source: "lowtide",
        },
        Param {
            name: "compute",
            kind: ValueKind::TIME,
            default: Is("0 s"),
            doc: "Computation of a rank before each iteration.",
            source: "lowtide",
        },
        Param {
            name: "compute-jitter",
            kind: ValueKind::TIME,
            default: Is("0 s"),
            doc: "Each `compute` is longer by up to this, uniformly, drawn for each rank.",
            source: "lowtide",
        },
        Param {
            name: "combine-rate",
            kind: ValueKind::Or { kind: &ValueKind::Rate, word: "off" },
            default: Is("off"),
            doc: "Rate at which a rank combines received data of a reduction before it sends the result on; `off` takes no time.",
            source: "lowtide",
        },
        START,
    ],
    traffic,
};

/// The lanes of one rank.
type Lanes = Vec<Vec<Step>>;

fn traffic(args: &WorkloadArgs, _: &WorkloadContext) -> Result<Traffic, WorkloadError> {
    let (hosts, values) = (&args.sources, &args.values);
    let n = hosts.len() as u64;
    if !args.destinations.is_empty() {
        let message = format!("[traffic.{}]: the ranks of a collective have no `to`", args.name);
        return Err(WorkloadError::at(
            "to",
            message,
            "name all ranks in `from`, and leave `to` out",
        ));
    }
    if n < 2 {
        let message = format!("[traffic.{}] has one rank, which has no one to send to", args.name);
        return Err(WorkloadError::at("from", message, "name two hosts or more in `from`"));
    }
    let (operation, slices) = (values.name("operation"), values.count("slices"));
    let size = values.bytes("data").as_u64();
    let chunks = match operation {
        "tree-all-reduce" => slices,
        _ => n.saturating_mul(slices),
    };
    if operation == "all-to-all" && slices > 1 {
        let message = format!("[traffic.{}] has slices, but `all-to-all` forwards none", args.name);
        return Err(WorkloadError::at("slices", message, "leave `slices` out"));
    }
    if size < chunks {
        let message =
            format!("[traffic.{}]: `data` of {size} B cannot fill {chunks} chunks", args.name);
        return Err(WorkloadError::at("data", message, "send more data, or use fewer slices"));
    }
    let iterations = values.count("iterations");
    if n.saturating_mul(chunks.max(iterations / 2)).saturating_mul(2) > MAX_MESSAGES {
        return Err(WorkloadError::above_limit(&args.name, "messages or iterations", MAX_MESSAGES));
    }
    let mut net = Connections { args, flows: Vec::new() };
    let lanes: Vec<Lanes> = match operation {
        "tree-all-reduce" => tree(&mut net, size, slices),
        "all-to-all" => all_to_all(&mut net, size),
        "ring-all-gather" => ring(&mut net, size, slices, 0),
        _ => ring(&mut net, size, slices, n - 1),
    };
    let rank = |(host, mut lanes): (&u32, Lanes)| {
        let compute = Step { compute: values.duration("compute"), ..Step::default() };
        lanes[0].insert(0, compute);
        RankSpec { host: *host, lanes }
    };
    let ranks: Vec<RankSpec> = hosts.iter().zip(lanes).map(rank).collect();
    let mut flows = net.flows;
    for sent in ranks.iter().flat_map(|r| r.lanes.iter().flatten()).flat_map(|s| &s.send) {
        let size = &mut flows[sent.flow as usize].size;
        let bytes = sent.bytes.saturating_mul(iterations);
        *size = Some(Bytes::new(size.map_or(0, Bytes::as_u64).saturating_add(bytes)));
    }
    let collective = CollectiveSpec {
        group: args.group,
        start: Instant::ZERO + values.duration("start"),
        iterations: iterations as u32,
        jitter: values.duration("compute-jitter"),
        ranks,
    };
    Ok(Traffic { flows, collectives: vec![collective], ..Traffic::default() })
}

/// The connections of a collective.
struct Connections<'a> {
    args: &'a WorkloadArgs,
    flows: Vec<Flow>,
}

impl Connections<'_> {
    const fn ranks(&self) -> usize {
        self.args.sources.len()
    }

    /// Adds the connection from one rank to another; its size is known at the end.
    fn add(&mut self, from: usize, to: usize) -> u32 {
        let start = Instant::ZERO + self.args.values.duration("start");
        let (src, dst) = (self.args.sources[from], self.args.sources[to]);
        let (group, write_pattern) = (self.args.group, WritePattern::OnReceipt);
        self.flows.push(Flow { group, src, dst, size: None, start, write_pattern });
        self.flows.len() as u32 - 1
    }

    /// Returns a step that combines what it receives with the rank's own data.
    fn reduction(&self, receive: Vec<Message>, send: Vec<Message>) -> Step {
        let bytes = Bytes::new(receive.iter().map(|m| m.bytes).sum());
        let rate = self.args.values.find_rate("combine-rate");
        let compute = rate.map_or(Duration::ZERO, |rate| rate.serialization(bytes));
        Step { receive, compute, send }
    }
}

/// Returns the bytes of part `i` of `n`: equal parts, which differ by at most one byte.
fn part(bytes: u64, i: u64, n: u64) -> u64 {
    let end = |i: u64| (u128::from(bytes) * u128::from(i) / u128::from(n)) as u64;
    end(i + 1) - end(i)
}

/// `reductions` steps of reduce-scatter, then n - 1 steps of all-gather.
fn ring(net: &mut Connections<'_>, size: u64, slices: u64, reductions: u64) -> Vec<Lanes> {
    let n = net.ranks();
    let steps = reductions + n as u64 - 1;
    let out: Vec<u32> = (0..n).map(|r| net.add(r, (r + 1) % n)).collect();
    let lane = |r: usize| {
        // Slice `s` of the chunk that rank `r` sends in step `k`: that which it received before.
        let slice = |k: u64, s| {
            let chunk = (r as u64 + 2 * n as u64 - k) % n as u64;
            part(part(size, chunk, n as u64), s, slices)
        };
        let message = |flow, k, s| vec![Message { flow, bytes: slice(k, s) }];
        let (from, to) = (out[(r + n - 1) % n], out[r]);
        let first =
            Step { send: (0..slices).flat_map(|s| message(to, 0, s)).collect(), ..Step::default() };
        let later = (1..=steps).flat_map(|k| (0..slices).map(move |s| (k, s))).map(|(k, s)| {
            let send = if k < steps { message(to, k, s) } else { Vec::new() };
            match message(from, k, s) {
                receive if k <= reductions => net.reduction(receive, send),
                receive => Step { receive, send, ..Step::default() },
            }
        });
        vec![std::iter::once(first).chain(later).collect()]
    };
    (0..n).map(lane).collect()
}

fn tree(net: &mut Connections<'_>, size: u64, slices: u64) -> Vec<Lanes> {
    let n = net.ranks();
    let parent = |r: usize| (r - 1) / 2;
    // Of rank r + 1: to its parent, and from it.
    let pairs: Vec<(u32, u32)> =
        (1..n).map(|r| (net.add(r, parent(r)), net.add(parent(r), r))).collect();
    let children = |r: usize| pairs.iter().take(2 * r + 2).skip(2 * r);
    let lanes = |r: usize| {
        let message = |flow: u32, s| Message { flow, bytes: part(size, s, slices) };
        let down = |s| children(r).map(|(_, down)| message(*down, s)).collect::<Vec<_>>();
        let own = r.checked_sub(1).map(|i| pairs[i]);
        let reduce = (0..slices).map(|s| {
            let receive = children(r).map(|(up, _)| message(*up, s)).collect();
            net.reduction(receive, own.map_or_else(|| down(s), |(up, _)| vec![message(up, s)]))
        });
        let broadcast = |from| {
            let step =
                |s| Step { receive: vec![message(from, s)], send: down(s), ..Step::default() };
            (0..slices).map(step).collect()
        };
        std::iter::once(reduce.collect()).chain(own.map(|(_, from)| broadcast(from))).collect()
    };
    (0..n).map(lanes).collect()
}

fn all_to_all(net: &mut Connections<'_>, size: u64) -> Vec<Lanes> {
    let n = net.ranks();
    let flows: Vec<Vec<u32>> =
        (0..n).map(|r| (1..n).map(|by| net.add(r, (r + by) % n)).collect()).collect();
    // The flow from a rank to the one `by` after it.
    let flow = |r: usize, by: usize| flows[r % n][by - 1];
    let block = |to: usize| part(size, (to % n) as u64, n as u64);
    let lane = |r: usize| {
        let sends = (1..n).map(|by| Message { flow: flow(r, by), bytes: block(r + by) });
        let receives =
            (1..n).map(|by| Message { flow: flow(r + n - by, by), bytes: block(r) }).collect();
        let mut steps = vec![
            Step { send: sends.collect(), ..Step::default() },
            Step { receive: receives, ..Step::default() },
        ];
        for by in std::iter::successors(Some(1), |by| Some(by * 2)).take_while(|by| *by < n) {
            let notify = |flow| vec![Message { flow, bytes: NOTIFICATION }];
            if let Some(last) = steps.last_mut() {
                last.send = notify(flow(r, by));
            }
            steps.push(Step { receive: notify(flow(r + n - by, by)), ..Step::default() });
        }
        vec![steps]
    };
    (0..n).map(lane).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{generate, generate_err};

    fn args(n: u32, given: &[(&str, &str)]) -> WorkloadArgs {
        WorkloadArgs { sources: (0..n).collect(), ..ENTRY.args(given).unwrap() }
    }

    #[test]
    fn each_operation_sends_its_bytes_and_receives_all_of_them() {
        for (operation, n, slices, flows, bytes) in [
            ("ring-all-reduce", 4, "3", 4, 2 * 3 * 1003),
            ("ring-all-gather", 4, "3", 4, 3 * 1003),
            ("tree-all-reduce", 7, "5", 12, 12 * 1003),
            ("all-to-all", 2, "1", 2, 1003 + 2 * NOTIFICATION),
        ] {
            let given = [
                ("operation", operation),
                ("data", "1003 B"),
                ("slices", slices),
                ("iterations", "1"),
            ];
            let made = generate(&ENTRY, &args(n, &given));
            let sent: u64 = made.flows.iter().map(|f| f.size.unwrap().as_u64()).sum();
            assert_eq!((made.flows.len(), sent), (flows, bytes), "{operation}");
            let ranks = &made.collectives[0].ranks;
            let steps = || ranks.iter().flat_map(|r| r.lanes.iter().flatten());
            for flow in 0..made.flows.len() as u32 {
                let of = |messages: Vec<&Message>| -> Vec<u64> {
                    messages.iter().filter(|m| m.flow == flow).map(|m| m.bytes).collect()
                };
                let sent = of(steps().flat_map(|s| &s.send).collect());
                assert_eq!(sent, of(steps().flat_map(|s| &s.receive).collect()), "{operation}");
            }
        }
    }

    #[test]
    fn only_reductions_combine() {
        let given = [("data", "4 kB"), ("combine-rate", "8 Gbit/s")];
        let made = generate(&ENTRY, &args(4, &given));
        let steps = &made.collectives[0].ranks[0].lanes[0];
        let ns: Vec<u64> = steps.iter().map(|step| step.compute.as_ns()).collect();
        assert_eq!(ns, [0, 0, 1000, 1000, 1000, 0, 0, 0]);
    }

    #[test]
    fn impossible_collectives_are_refused() {
        for (n, key, value, part) in [
            (1, "slices", "1", "has one rank, which has no one to send to"),
            (4, "slices", "300", "`data` of 1000 B cannot fill 1200 chunks"),
            (9, "iterations", "1000000", "more than 4000000 messages or iterations"),
        ] {
            let error = generate_err(&ENTRY, &args(n, &[("data", "1 kB"), (key, value)]));
            assert!(error.message.contains(part), "{error}");
        }
        let to = WorkloadArgs { destinations: vec![1, 0], ..args(2, &[("data", "1 kB")]) };
        assert!(generate_err(&ENTRY, &to).message.contains("have no `to`"));
        let slices = [("operation", "all-to-all"), ("data", "1 kB"), ("slices", "2")];
        assert!(generate_err(&ENTRY, &args(2, &slices)).message.contains("forwards none"));
    }
}
