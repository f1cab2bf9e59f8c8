//! Regions on several threads against one world with the same rules.

use lowtide_sim::partition::{
    GlobalWorld, LogicalProcess, PartitionedRun, RunBounds, ShardWorld, run_partitioned,
};
use lowtide_sim::{Digest, Entity, Scheduler, Seed, Stop, World, run};
use lowtide_units::{Duration, Instant};

/// Nodes that pass tokens: an event of a node takes one token further, to itself or to another node.
const NODE: u8 = 0;
/// Something looks at all nodes.
const LOOK: u8 = 1;
const LOOKAHEAD: Duration = Duration::from_ps(1_000);

/// Some of the nodes, or all.
struct Nodes {
    parts: u32,
    part: u32,
    all: Vec<Node>,
    /// Number of the region, when, for whom, how far the token has come.
    leaving: Vec<(usize, Instant, u32, u32)>,
    over: usize,
    /// Tokens go so far.
    far: u32,
    awaited: Option<usize>,
    stubborn: bool,
    panics_at: Option<Instant>,
}

#[derive(Clone, Default)]
struct Node {
    /// Tokens that are to come, by time.
    due: Vec<(Instant, u32)>,
    seen: Digest,
}

impl Nodes {
    fn new(parts: u32, part: u32, count: u32, far: u32) -> Self {
        let all = vec![Node::default(); count as usize];
        let (leaving, over) = (Vec::new(), 0);
        Self {
            parts,
            part,
            all,
            leaving,
            over,
            far,
            awaited: None,
            stubborn: false,
            panics_at: None,
        }
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
        if entity.kind() == LOOK {
            return look(now, [self].into_iter());
        }
        let index = entity.index();
        let count = self.all.len() as u64;
        let node = &mut self.all[index as usize];
        // Of tokens that meet, the one that has come least far.
        let due = node.due.iter().filter(|(at, _)| *at == now).min().copied();
        let Some(place) = node.due.iter().position(|d| Some(*d) == due) else { return };
        let (_, steps) = node.due.remove(place);
        node.seen.update(now.as_ps());
        node.seen.update(steps.into());
        if steps == self.far {
            self.over += 1;
            return;
        }
        let mut rng = Seed::derive(now.as_ps(), "node", index.into(), "next").rng();
        let to = rng.below(count) as u32;
        // To a node of another region it takes a lookahead at least, exactly that now and then.
        let away = to % self.parts != self.part && self.parts > 1;
        let least = if to % 4 == index % 4 { 100 } else { LOOKAHEAD.as_ps() };
        let at = now + Duration::from_ps(least + rng.below(3) * rng.below(900));
        if away {
            self.leaving.push(((to % self.parts) as usize, at, to, steps + 1));
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
        let first = self.leaving.iter().map(|l| l.1).min();
        self.leaving.retain(|&(to, at, node, steps)| {
            if at < until {
                post(to, (at, node, steps));
            }
            at >= until
        });
        first
    }
    fn has_exports(&self) -> bool {
        !self.leaving.is_empty()
    }
    fn import_message(&mut self, (at, node, steps): Self::Message, sched: &mut Scheduler) {
        self.put(at, node, steps, sched);
    }
    fn completed(&self) -> usize {
        self.over
    }
    fn cannot_finish_before(&mut self, _: Instant) -> bool {
        // A step takes 100 ps at least.
        let waits = self.all.iter().flat_map(|n| &n.due).any(|(_, steps)| steps + 20 < self.far);
        waits && !self.stubborn
    }
}

/// What was looked at enters the digests.
fn look<'a>(now: Instant, all: impl Iterator<Item = &'a mut Nodes>) {
    for nodes in all {
        let parts = nodes.parts;
        let own = nodes.all.iter_mut().zip(0..).filter(|(_, i)| i % parts == nodes.part);
        own.for_each(|(node, _)| node.seen.update(now.as_ps() ^ 1));
    }
}

struct Looker;

impl GlobalWorld<Nodes> for Looker {
    fn handle(
        &mut self,
        now: Instant,
        _: Entity,
        regions: &mut [&mut LogicalProcess<Nodes>],
        busy: bool,
        _: &mut Scheduler,
    ) {
        assert!(busy, "tokens go on");
        look(now, regions.iter_mut().map(|s| &mut s.shard));
    }
}

/// Looks at this time, a window's boundary among others.
fn looks() -> impl Iterator<Item = Instant> {
    [0, 1, 999, 1_000, 1_001, 20_000, 20_001, 99_999].into_iter().map(Instant::from_ps)
}

const NODES: u32 = 24;

fn whole(
    tokens: u32,
    far: u32,
    until: Instant,
    awaited: Option<usize>,
) -> (Vec<u64>, PartitionedRun) {
    let mut sched = Scheduler::new(Seed(9));
    let mut nodes = Nodes { awaited, ..Nodes::new(1, 0, NODES, far) };
    (0..tokens).for_each(|i| nodes.put(Instant::from_ps(i.into()), i % NODES, 0, &mut sched));
    looks().for_each(|at| sched.at(at, Entity::new(LOOK, 0)));
    let stop = run(&mut nodes, &mut sched, until, &mut |_| false);
    let digests = (0..NODES as usize).map(|i| nodes.digest(i)).collect();
    (
        digests,
        PartitionedRun { stop, at: sched.now(), events: sched.events(), windows: 0, merged: 0 },
    )
}

fn apart(
    parts: u32,
    tokens: u32,
    far: u32,
    until: Instant,
    awaited: Option<usize>,
    change: impl Fn(&mut Nodes),
) -> (Vec<u64>, PartitionedRun) {
    let share = |part| {
        let mut region = Nodes::new(parts, part, NODES, far);
        change(&mut region);
        LogicalProcess { shard: region, sched: Scheduler::new(Seed(9)) }
    };
    let mut shares: Vec<LogicalProcess<Nodes>> = (0..parts).map(share).collect();
    for i in 0..tokens {
        let LogicalProcess { shard: region, sched } = &mut shares[(i % NODES % parts) as usize];
        region.put(Instant::from_ps(i.into()), i % NODES, 0, sched);
    }
    let mut agenda = Scheduler::new(Seed(9));
    looks().for_each(|at| agenda.at(at, Entity::new(LOOK, 0)));
    let bounds = RunBounds { lookahead: LOOKAHEAD, until, completions: awaited };
    let ended = run_partitioned(&mut shares, (&mut Looker, &mut agenda), bounds, &mut |_| false);
    let own = |i: usize| shares[i % parts as usize].shard.digest(i);
    ((0..NODES as usize).map(own).collect(), ended)
}

fn same(parts: u32, far: u32, until: Instant, awaited: Option<usize>) -> PartitionedRun {
    let (want, one) = whole(50, far, until, awaited);
    let (got, several) = apart(parts, 50, far, until, awaited, |_| ());
    assert_eq!(got, want, "{parts} parts");
    assert_eq!((several.stop, several.at, several.events), (one.stop, one.at, one.events));
    several
}

#[test]
fn regions_do_what_one_world_does() {
    for parts in [1, 2, 4] {
        let ended = same(parts, 100_000, Instant::from_ps(100_000), None);
        assert_eq!(ended.stop, Stop::Time);
        assert!(ended.windows > 90 && ended.merged == 8, "{ended:?}");
    }
    // The end is exclusive: a picosecond more or less is seen.
    for until in [19_999, 20_000, 20_001, 20_002] {
        same(2, 100_000, Instant::from_ps(until), None);
    }
}

#[test]
fn regions_without_events_are_idle() {
    let ended = same(2, 150, Instant::FAR_FUTURE, None);
    assert_eq!(ended.stop, Stop::Idle);
}

#[test]
fn nothing_happens_after_the_last_one_is_over() {
    for parts in [1, 2, 4] {
        let ended = same(parts, 15, Instant::FAR_FUTURE, Some(30));
        assert_eq!(ended.stop, Stop::Finished);
        assert_eq!(ended.windows, 0, "nobody knows that it goes on");
        let ended = same(parts, 150, Instant::FAR_FUTURE, Some(30));
        assert!(ended.windows > 50 && ended.merged > 5, "{ended:?}");
    }
    let (want, _) = whole(50, 150, Instant::FAR_FUTURE, Some(17));
    let (got, ended) = apart(2, 50, 150, Instant::FAR_FUTURE, Some(17), |n| n.stubborn = true);
    assert_eq!((got, ended.windows), (want, 0));
}

#[test]
#[should_panic(expected = "a scoped thread panicked")]
fn a_panic_of_one_region_ends_all() {
    let late = Instant::from_ps(50_000);
    apart(2, 50, 100_000, Instant::FAR_FUTURE, None, |n| {
        n.panics_at = (n.part == 1).then_some(late);
    });
}

#[test]
fn it_can_be_interrupted() {
    let region = Nodes::new(1, 0, NODES, u32::MAX);
    let mut shares = [LogicalProcess { shard: region, sched: Scheduler::new(Seed(9)) }];
    let LogicalProcess { shard: region, sched } = &mut shares[0];
    region.put(Instant::ZERO, 0, 0, sched);
    let bounds = RunBounds { lookahead: LOOKAHEAD, until: Instant::FAR_FUTURE, completions: None };
    let mut agenda = Scheduler::new(Seed(9));
    let mut polls = 0;
    let ended = run_partitioned(&mut shares, (&mut Looker, &mut agenda), bounds, &mut |_| {
        polls += 1;
        polls == 3
    });
    assert_eq!((ended.stop, polls), (Stop::Interrupted, 3));
}
