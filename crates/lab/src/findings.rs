//! Findings that a reader must know before the numbers: flows that did not complete, groups that
//! are not counted, markers that never acted, and transients longer than the warm-up.
//!
//! Contract: everything follows from the facts of the runs. One finding covers all seeds of a
//! scheme at a point.

use std::collections::BTreeMap;

use lowtide_record::{RunKey, SweepPoint};
use serde::Serialize;

use crate::facts::{OpenLoopFacts, RunFacts};
use crate::naming::point_text;
use crate::queues::QueueFacts;
use crate::warmup::Transient;

/// Kind: flows or queries that were right-censored by the end of the run.
pub const UNFINISHED: &str = "unfinished";
/// Kind: a queue that dropped packets and marked none.
pub const NEVER_MARKED: &str = "never-marked";
/// Kind: a group whose transient is longer than the stated warm-up.
pub const SHORT_WARMUP: &str = "short-warmup";

/// Kind: a group with a flow that is faster than its ideal time, which is wrong then.
pub const WRONG_IDEAL: &str = "wrong-ideal";
/// Kind: a rank of a collective that ended most iterations as the last one.
pub(crate) const STRAGGLER: &str = "straggler";
/// Kind: a group of which no flow or query counts, because all began during the warm-up.
pub const NONE_COUNTED: &str = "none-counted";

/// One finding about a scheme at a point.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RunFinding {
    /// [`UNFINISHED`], [`NEVER_MARKED`], [`SHORT_WARMUP`], [`WRONG_IDEAL`],
    /// [`NONE_COUNTED`] or [`STRAGGLER`].
    pub kind: &'static str,
    /// The scheme.
    pub scheme: String,
    /// The point of the sweep.
    pub point: SweepPoint,
    /// The traffic group; `None` if the finding is about a queue.
    pub group: Option<String>,
    /// The queue; `None` if the finding is about a group.
    pub queue: Option<String>,
    /// The class of the queue; `None` without classes.
    pub class: Option<String>,
    /// Seeds with the finding.
    pub seeds: usize,
    /// Seeds of the scheme at the point.
    pub of_seeds: usize,
    /// Censored flows, dropped packets, or seeds, by the kind.
    pub count: u64,
    /// The finding as a sentence, without scheme and point.
    pub says: String,
}

impl RunFinding {
    /// Returns the sentence with its scheme and point, and the number of seeds unless it is all.
    pub fn sentence(&self) -> String {
        let mut of = vec![self.scheme.clone()];
        of.extend((!self.point.is_empty()).then(|| point_text(&self.point)));
        if self.seeds < self.of_seeds {
            of.push(format!("{} of {} seeds", self.seeds, self.of_seeds));
        }
        format!("{}: {}", of.join(", "), self.says)
    }
}

/// Returns the findings of runs, which are in the order of the plan.
pub(crate) fn findings(runs: &[RunFacts]) -> Vec<RunFinding> {
    let same =
        |a: &RunFacts, b: &RunFacts| a.key.scheme == b.key.scheme && a.key.point == b.key.point;
    let of_seeds = runs.chunk_by(same);
    let all = |seeds| {
        let first = unfinished(seeds).into_iter();
        let first = first.chain(none_counted(seeds)).chain(straggler(seeds));
        first.chain(never_marked(seeds)).chain(short_warmup(seeds)).chain(wrong_ideal(seeds))
    };
    of_seeds.flat_map(all).collect()
}

/// Returns the groups that have a transient beyond the stated warm-up in most seeds. A single seed
/// may have one by chance.
fn short_warmup(seeds: &[RunFacts]) -> Vec<RunFinding> {
    let Some(first) = seeds.first() else { return Vec::new() };
    let of_group = |name: &String| {
        let transients: Vec<Transient> =
            seeds.iter().filter_map(|run| run.group(name)?.transient).collect();
        let beyond = |t: &&Transient| t.until_ms.is_none_or(|until| until > first.warmup_ms);
        let late: Vec<&Transient> =
            transients.iter().filter(|t| t.detected).filter(beyond).collect();
        if late.len() * 2 <= seeds.len() {
            return None;
        }
        let mut ends: Vec<f64> = late.iter().filter_map(|t| t.until_ms).collect();
        ends.sort_by(f64::total_cmp);
        let until = match ends.get(ends.len() / 2) {
            Some(ms) if ends.len() * 2 > late.len() => format!("settles after {ms:.3} ms"),
            _ => "has not settled in the second half of its flows".to_owned(),
        };
        let mut found = finding(SHORT_WARMUP, &first.key, seeds.len());
        found.seeds = late.len();
        found.count = seeds.iter().filter_map(|run| run.group(name)).map(|g| g.flows as u64).sum();
        found.says = format!(
            "the slowdown of group {name} {until} (MSER-5), the stated warm-up ends at {} ms; its \
             statistics count {} flows",
            first.warmup_ms, found.count
        );
        found.group = Some(name.clone());
        Some(found)
    };
    first.groups.iter().filter_map(|group| of_group(&group.name)).collect()
}

/// Returns the ranks that are alone the last to end more than half of the complete iterations.
fn straggler(seeds: &[RunFacts]) -> Vec<RunFinding> {
    let Some(first) = seeds.first() else { return Vec::new() };
    let of_group = |name: &String| {
        let (mut last, mut complete) = (BTreeMap::<&str, (usize, u64)>::new(), 0);
        let mut spreads = Vec::new();
        for facts in seeds.iter().filter_map(|run| run.collective(name)) {
            complete += (facts.iterations - facts.unfinished) as u64;
            spreads.extend(facts.end_spread_ms);
            let Some(host) = &facts.last_host else { continue };
            let (seeds, iterations) = last.entry(host).or_default();
            *seeds += 1;
            *iterations += facts.last_iterations as u64;
        }
        let (host, (of_seeds, iterations)) = last.into_iter().max_by_key(|(_, (_, n))| *n)?;
        let mut found = finding(STRAGGLER, &first.key, seeds.len());
        (found.seeds, found.count) = (of_seeds, iterations);
        found.says = format!(
            "{host} was the last rank of group {name} in {iterations} of {complete} iterations; \
             from the first rank's end to the last are {:.3} ms on average",
            spreads.iter().sum::<f64>() / spreads.len() as f64
        );
        found.group = Some(name.clone());
        (2 * iterations > complete).then_some(found)
    };
    first.collectives.iter().filter_map(|c| of_group(&c.name)).collect()
}

fn wrong_ideal(seeds: &[RunFacts]) -> Vec<RunFinding> {
    let Some(first) = seeds.first() else { return Vec::new() };
    let of_group = |name: &String| {
        let groups = seeds.iter().filter_map(|run| run.group(name));
        let below: Vec<f64> = groups.filter_map(|group| group.samples.below_one).collect();
        let least = below.iter().copied().reduce(f64::min)?;
        let mut found = finding(WRONG_IDEAL, &first.key, seeds.len());
        found.seeds = below.len();
        found.count = below.len() as u64;
        found.says = format!(
            "group {name} has a slowdown of {least:.3}, below one: its ideal time is wrong, so no \
             slowdown of the group is shown"
        );
        found.group = Some(name.clone());
        Some(found)
    };
    first.groups.iter().filter_map(|group| of_group(&group.name)).collect()
}

/// Returns the groups that have no counted flow, or no counted query, in a seed.
fn none_counted(seeds: &[RunFacts]) -> Vec<RunFinding> {
    let Some(first) = seeds.first() else { return Vec::new() };
    let found = |name: &String, what: &str, of: &dyn Fn(&RunFacts) -> Option<(usize, usize)>| {
        let lost =
            seeds.iter().filter_map(of).filter(|(counted, early)| *counted == 0 && *early > 0);
        let mut found = finding(NONE_COUNTED, &first.key, seeds.len());
        for (_, early) in lost {
            found.seeds += 1;
            found.count += early as u64;
        }
        found.says = format!(
            "no {what} of group {name} counts: all {} arrived during the warm-up of {} ms; shorten \
             `[run] warmup`, or let the group arrive for longer",
            found.count, first.warmup_ms
        );
        found.group = Some(name.clone());
        (found.seeds > 0).then_some(found)
    };
    let flows = first.groups.iter().filter_map(|group| {
        let name = &group.name;
        found(name, "flow", &|run| run.group(name).map(|g| (g.flows, g.in_warmup)))
    });
    let queries = first.queries.iter().filter_map(|queries| {
        let name = &queries.name;
        found(name, "query", &|run| run.queries(name).map(|q| (q.queries, q.in_warmup)))
    });
    flows.chain(queries).collect()
}

fn finding(kind: &'static str, key: &RunKey, of_seeds: usize) -> RunFinding {
    RunFinding {
        kind,
        scheme: key.scheme.clone(),
        point: key.point.clone(),
        group: None,
        queue: None,
        class: None,
        seeds: 0,
        of_seeds,
        count: 0,
        says: String::new(),
    }
}

fn unfinished(seeds: &[RunFacts]) -> Vec<RunFinding> {
    let Some(first) = seeds.first() else { return Vec::new() };
    let of_group = |name: &String| {
        let mut found = finding(UNFINISHED, &first.key, seeds.len());
        let (mut flows, mut blocked_on) = (0, BTreeMap::<&str, usize>::new());
        for group in seeds.iter().filter_map(|run| run.group(name)) {
            flows += group.flows;
            found.count += group.unfinished as u64;
            found.seeds += usize::from(group.unfinished > 0);
            for (what, n) in &group.blocked_on {
                *blocked_on.entry(what).or_default() += n;
            }
        }
        let each = blocked_on.iter().map(|(what, n)| format!("{n} {}", stop_reason(what)));
        let each = each.collect::<Vec<_>>().join(", ");
        found.says = format!(
            "{} of {flows} flows of group {name} did not complete before the {}: {each}{}",
            found.count,
            end_of_run(seeds),
            remedy(seeds)
        );
        found.group = Some(name.clone());
        (found.count > 0).then_some(found)
    };
    // The sentence begins with the number of those cut off, and has the number of all.
    let cut_off = |name: &String, counts: &dyn Fn(&RunFacts) -> Option<[usize; 2]>, said: &str| {
        let mut found = finding(UNFINISHED, &first.key, seeds.len());
        let mut all = 0;
        for [whole, unfinished] in seeds.iter().filter_map(counts) {
            all += whole;
            found.count += unfinished as u64;
            found.seeds += usize::from(unfinished > 0);
        }
        found.says = format!(
            "{} of {all} {said} before the {}{}",
            found.count,
            end_of_run(seeds),
            remedy(seeds)
        );
        found.group = Some(name.clone());
        (found.count > 0).then_some(found)
    };
    let of_queries = |name: &String| {
        let counts = |run: &RunFacts| run.queries(name).map(|q| [q.queries, q.unfinished]);
        cut_off(name, &counts, &format!("queries of group {name} were not answered"))
    };
    let of_collective = |name: &String| {
        let counts = |run: &RunFacts| run.collective(name).map(|c| [c.iterations, c.unfinished]);
        cut_off(name, &counts, &format!("iterations of collective {name} did not complete"))
    };
    let collectives = first.collectives.iter().filter_map(|c| of_collective(&c.name));
    let groups = first.groups.iter().filter_map(|group| of_group(&group.name));
    let queries = first.queries.iter().filter_map(|asked| of_queries(&asked.name));
    groups.chain(queries).chain(collectives).collect()
}

/// Returns the end of runs of which some flows are unfinished.
fn end_of_run(seeds: &[RunFacts]) -> String {
    match seeds.iter().find(|run| run.open_loop.as_ref().is_some_and(|open| open.cut)) {
        Some(run) => format!("limit of {} ms", run.ended_ms),
        None => "end of the run".to_owned(),
    }
}

/// Returns what to do about the limit of an open loop; empty if it cut no run.
fn remedy(seeds: &[RunFacts]) -> String {
    let cut = seeds.iter().filter_map(|run| run.open_loop.as_ref()).filter(|open| open.cut);
    let load = |open: &OpenLoopFacts| open.offered_load.zip(open.offered_load_tier.clone());
    let highest = cut.clone().filter_map(load).max_by(|a, b| a.0.total_cmp(&b.0));
    match highest.filter(|(load, _)| *load > 1.0) {
        _ if cut.count() == 0 => String::new(),
        Some((load, tier)) => format!(
            "; the traffic offers {:.0} % of the lines {tier}, which they cannot carry: no limit is \
             late enough, so lower the load",
            load * 100.0
        ),
        None => "; `[run] end-limit` sets a later one".to_owned(),
    }
}

/// Returns a value of the column `blocked_on` in words.
fn stop_reason(what: &str) -> &str {
    match what {
        "not-started" => "not started",
        "handshake" => "in the handshake",
        "rto" => "waiting for an RTO",
        "zero-window" => "blocked by a zero window",
        "receive-window" => "held back by the receive window",
        "application" => "without data from the application",
        "sending" => "sending",
        _ => "unknown",
    }
}

fn never_marked(seeds: &[RunFacts]) -> Vec<RunFinding> {
    /// The queue and its class.
    type Place<'a> = (&'a str, Option<&'a str>);
    let Some(first) = seeds.first() else { return Vec::new() };
    let mut found: BTreeMap<Place<'_>, (RunFinding, Option<u32>)> = BTreeMap::new();
    for queue in seeds.iter().flat_map(|run| &run.queues) {
        for (class, marker, drops, longest) in silent(queue) {
            let (finding, most) = found
                .entry((queue.name.as_str(), class))
                .or_insert_with(|| (finding(NEVER_MARKED, &first.key, seeds.len()), None));
            finding.seeds += 1;
            finding.count += drops;
            *most = (*most).max(longest);
            let what = class.map_or_else(String::new, |class| format!(", class {class},"));
            let longest =
                most.map_or_else(String::new, |n| format!(" (longest queue {n} packets)"));
            finding.says = format!(
                "queue {}{what} never marked and dropped {} packets{longest}: its marker `{marker}` did \
                 not act before the memory was full, or no ECN-capable flow came here",
                queue.name, finding.count
            );
            finding.queue = Some(queue.name.clone());
            finding.class = class.map(str::to_owned);
        }
    }
    found.into_values().map(|(finding, _)| finding).collect()
}

/// Returns the queue or its classes that never marked: class, marker, drops, longest.
fn silent(queue: &QueueFacts) -> impl Iterator<Item = (Option<&str>, &str, u64, Option<u32>)> {
    let whole = queue.never_marked.then_some((
        None,
        &queue.marker,
        queue.overflow_drops,
        queue.max_packets,
    ));
    let classes = queue.classes.iter().filter(|class| class.never_marked);
    let classes =
        classes.map(|c| (Some(c.name.as_str()), &c.marker, c.overflow_drops, c.max_packets));
    let all = whole.into_iter().chain(classes);
    all.map(|(class, marker, drops, longest)| {
        (class, marker.as_deref().unwrap_or_default(), drops, longest)
    })
}
