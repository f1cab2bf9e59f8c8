//! Shards on several threads compared with one world with the same rules.

use lowtide_sim::partition::{
    GlobalWorld, LogicalProcess, PartitionedRun, RunBounds, ShardWorld, run_partitioned,
};
use lowtide_sim::{Digest, Entity, Scheduler, Seed, Stop, World, run};
use lowtide_units::{Duration, Instant};

/// Nodes that pass tokens: an event of a node passes one token on, to itself or to another node.
const NODE: u8 = 0;
/// A global event that samples all nodes.
const SAMPLE: u8 = 1;
const LOOKAHEAD: Duration = Duration::from_ps(1_000);

/// Some of the nodes, or all.
struct Nodes {
    parts: u32,
    part: u32,
    all: Vec<Node>,
    /// Destination shard, arrival time, node, hops of the token so far.
    exports: Vec<(usize, Instant, u32, u32)>,
    over: usize,
    /// Hops after which a token ends.
    far: u32,
    awaited: Option<usize>,
    unsure: bool,
    panics_at: Option<Instant>,
}

#[derive(Clone, Default)]
struct Node {
    /// Arriving tokens, by time.
    due: Vec<(Instant, u32)>,
    seen: Digest,
}

impl Nodes {
    fn new(parts: u32, part: u32, count: u32, far: u32) -> Self {
        let all = vec![Node::default(); count as usize];
        let (exports, over) = (Vec::new(), 0);
        Self { parts, part, all, exports, over, far, awaited: None, unsure: false, panics_at: None }
    }

    fn put(&mut self, at: Instant, node: u32, steps: u32, sched: &mut Scheduler) {
        self.all[node as usize].due.push((at, steps));
        sched.at(at, Entity::new(NODE, node));
    }

    fn digest(&self, node: usize) -> u64 {
        self.all[node].seen.value()
    }
}

impl World for Nodes {
    fn handle(&mut self, now: Instant, entity: Entity, sched: &mut Scheduler) {
        assert!(self.panics_at.is_none_or(|at| now < at), "on purpose");
        if entity.kind() == SAMPLE {
            return sample(now, [self].into_iter());
        }
        let index = entity.index();
        let count = self.all.len() as u64;
        let node = &mut self.all[index as usize];
        // Of simultaneous tokens, the one with the fewest hops.
        let due = node.due.iter().filter(|(at, _)| *at == now).min().copied();
        let Some(position) = node.due.iter().position(|d| Some(*d) == due) else { return };
        let (_, steps) = node.due.remove(position);
        node.seen.update(now.as_ps());
        node.seen.update(steps.into());
        if steps == self.far {
            self.over += 1;
            return;
        }
        let mut rng = Seed::derive(now.as_ps(), "node", index.into(), "next").rng();
        let to = rng.below(count) as u32;
        // A hop to another shard takes at least a lookahead, sometimes exactly that.
        let away = to % self.parts != self.part && self.parts > 1;
        let least = if to % 4 == index % 4 { 100 } else { LOOKAHEAD.as_ps() };
        let at = now + Duration::from_ps(least + rng.below(3) * rng.below(900));
        if away {
            self.exports.push(((to % self.parts) as usize, at, to, steps + 1));
        } else {
            self.put(at, to, steps + 1, sched);
        }
    }
    fn finished(&self) -> bool {
        self.awaited.is_some_and(|all| self.over >= all)
    }
}

impl ShardWorld for Nodes {
    type Message = (Instant, u32, u32);
    fn export_messages(
        &mut self,
        until: Instant,
        post: &mut dyn FnMut(usize, Self::Message),
    ) -> Option<Instant> {
        let first = self.exports.iter().map(|l| l.1).min();
        self.exports.retain(|&(to, at, node, steps)| {
            if at < until {
                post(to, (at, node, steps));
            }
            at >= until
        });
        first
    }
    fn has_exports(&self) -> bool {
        !self.exports.is_empty()
    }
    fn import_message(&mut self, (at, node, steps): Self::Message, sched: &mut Scheduler) {
        self.put(at, node, steps, sched);
    }
    fn completed(&self) -> usize {
        self.over
    }
    fn cannot_finish_before(&mut self, _: Instant) -> bool {
        // A hop takes at least 100 ps.
        let waits = self.all.iter().flat_map(|n| &n.due).any(|(_, steps)| steps + 20 < self.far);
        waits && !self.unsure
    }
}

/// Samples enter the digests.
fn sample<'a>(now: Instant, all: impl Iterator<Item = &'a mut Nodes>) {
    for nodes in all {
        let parts = nodes.parts;
        let own = nodes.all.iter_mut().zip(0..).filter(|(_, i)| i % parts == nodes.part);
        own.for_each(|(node, _)| node.seen.update(now.as_ps() ^ 1));
    }
}

struct Sampler;

impl GlobalWorld<Nodes> for Sampler {
    fn handle(
        &mut self,
        now: Instant,
        _: Entity,
        shards: &mut [&mut LogicalProcess<Nodes>],
        busy: bool,
        _: &mut Scheduler,
    ) {
        assert!(busy, "tokens are pending");
        sample(now, shards.iter_mut().map(|s| &mut s.shard));
    }
}

/// Sample times, window boundaries among them.
fn sample_times() -> impl Iterator<Item = Instant> {
    [0, 1, 999, 1_000, 1_001, 20_000, 20_001, 99_999].into_iter().map(Instant::from_ps)
}

const NODES: u32 = 24;

fn single(
    tokens: u32,
    far: u32,
    until: Instant,
    awaited: Option<usize>,
) -> (Vec<u64>, PartitionedRun) {
    let mut sched = Scheduler::new(Seed(9));
    let mut nodes = Nodes { awaited, ..Nodes::new(1, 0, NODES, far) };
    (0..tokens).for_each(|i| nodes.put(Instant::from_ps(i.into()), i % NODES, 0, &mut sched));
    sample_times().for_each(|at| sched.at(at, Entity::new(SAMPLE, 0)));
    let stop = run(&mut nodes, &mut sched, until, &mut |_| false);
    let digests = (0..NODES as usize).map(|i| nodes.digest(i)).collect();
    (
        digests,
        PartitionedRun { stop, at: sched.now(), events: sched.events(), windows: 0, merged: 0 },
    )
}

fn partitioned(
    parts: u32,
    tokens: u32,
    far: u32,
    until: Instant,
    awaited: Option<usize>,
    change: impl Fn(&mut Nodes),
) -> (Vec<u64>, PartitionedRun) {
    let process = |part| {
        let mut shard = Nodes::new(parts, part, NODES, far);
        change(&mut shard);
        LogicalProcess { shard, sched: Scheduler::new(Seed(9)) }
    };
    let mut processes: Vec<LogicalProcess<Nodes>> = (0..parts).map(process).collect();
    for i in 0..tokens {
        let LogicalProcess { shard, sched } = &mut processes[(i % NODES % parts) as usize];
        shard.put(Instant::from_ps(i.into()), i % NODES, 0, sched);
    }
    let mut global_sched = Scheduler::new(Seed(9));
    sample_times().for_each(|at| global_sched.at(at, Entity::new(SAMPLE, 0)));
    let bounds = RunBounds { lookahead: LOOKAHEAD, until, completions: awaited };
    let ended =
        run_partitioned(&mut processes, (&mut Sampler, &mut global_sched), bounds, &mut |_| false);
    let own = |i: usize| processes[i % parts as usize].shard.digest(i);
    ((0..NODES as usize).map(own).collect(), ended)
}

fn same(parts: u32, far: u32, until: Instant, awaited: Option<usize>) -> PartitionedRun {
    let (want, one) = single(50, far, until, awaited);
    let (got, several) = partitioned(parts, 50, far, until, awaited, |_| ());
    assert_eq!(got, want, "{parts} parts");
    assert_eq!((several.stop, several.at, several.events), (one.stop, one.at, one.events));
    several
}

#[test]
fn shards_do_what_one_world_does() {
    for parts in [1, 2, 4] {
        let ended = same(parts, 100_000, Instant::from_ps(100_000), None);
        assert_eq!(ended.stop, Stop::Time);
        assert!(ended.windows > 90 && ended.merged == 8, "{ended:?}");
    }
    // The end is exclusive, to the picosecond.
    for until in [19_999, 20_000, 20_001, 20_002] {
        same(2, 100_000, Instant::from_ps(until), None);
    }
}

#[test]
fn shards_without_events_are_idle() {
    let ended = same(2, 150, Instant::FAR_FUTURE, None);
    assert_eq!(ended.stop, Stop::Idle);
}

#[test]
fn nothing_happens_after_the_last_completion() {
    for parts in [1, 2, 4] {
        let ended = same(parts, 15, Instant::FAR_FUTURE, Some(30));
        assert_eq!(ended.stop, Stop::Finished);
        assert_eq!(ended.windows, 0, "no shard is sure that it continues");
        let ended = same(parts, 150, Instant::FAR_FUTURE, Some(30));
        assert!(ended.windows > 50 && ended.merged > 5, "{ended:?}");
    }
    let (want, _) = single(50, 150, Instant::FAR_FUTURE, Some(17));
    let (got, ended) = partitioned(2, 50, 150, Instant::FAR_FUTURE, Some(17), |n| n.unsure = true);
    assert_eq!((got, ended.windows), (want, 0));
}

#[test]
#[should_panic(expected = "a scoped thread panicked")]
fn a_panic_of_one_shard_ends_all() {
    let late = Instant::from_ps(50_000);
    partitioned(2, 50, 100_000, Instant::FAR_FUTURE, None, |n| {
        n.panics_at = (n.part == 1).then_some(late);
    });
}

#[test]
fn it_can_be_interrupted() {
    let shard = Nodes::new(1, 0, NODES, u32::MAX);
    let mut processes = [LogicalProcess { shard, sched: Scheduler::new(Seed(9)) }];
    let LogicalProcess { shard, sched } = &mut processes[0];
    shard.put(Instant::ZERO, 0, 0, sched);
    let bounds = RunBounds { lookahead: LOOKAHEAD, until: Instant::FAR_FUTURE, completions: None };
    let mut global_sched = Scheduler::new(Seed(9));
    let mut polls = 0;
    let ended =
        run_partitioned(&mut processes, (&mut Sampler, &mut global_sched), bounds, &mut |_| {
            polls += 1;
            polls == 3
        });
    assert_eq!((ended.stop, polls), (Stop::Interrupted, 3));
}
