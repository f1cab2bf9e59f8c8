//! Assignment of switch groups to shards with equal work and few cut links.

use super::groups::SwitchGroups;

/// Refinement rounds over all groups.
const ROUNDS: usize = 4;
/// Maximum load of a shard that receives a group, in twentieths of its fair share.
const ROOM: u64 = 21;

/// Returns the shard of each group; `None` if a shard would be empty.
///
/// Consecutive racks in host order stay together, as in every generated topology. A switch without
/// hosts goes to the shard with most of its links, on a tie to the one with the least work. Then
/// single groups move to the shard with more of their links, as long as the balance allows.
pub(super) fn assign(groups: &SwitchGroups, shards: usize) -> Option<Vec<u16>> {
    let mut assignment: Vec<Option<u16>> = vec![None; groups.work.len()];
    let mut loads = vec![0_u64; shards];
    let all: u64 = groups.homes.iter().map(|g| groups.work[*g]).sum();
    let mut before = 0;
    for &group in &groups.homes {
        let work = groups.work[group];
        let shard = ((before + work / 2) * shards as u64).checked_div(all).unwrap_or_default();
        let shard = (shard as usize).min(shards - 1);
        assignment[group] = Some(shard as u16);
        loads[shard] += work;
        before += work;
    }
    attach(groups, &mut assignment, &mut loads);
    let mut assignment: Vec<u16> = assignment.into_iter().map(Option::unwrap_or_default).collect();
    for _ in 0..ROUNDS {
        if !improve(groups, &mut assignment, &mut loads) {
            break;
        }
    }
    loads.iter().all(|load| *load > 0).then_some(assignment)
}

/// Assigns all unassigned groups, from near to far.
fn attach(groups: &SwitchGroups, assignment: &mut [Option<u16>], loads: &mut [u64]) {
    loop {
        let known = assignment.to_vec();
        let mut moved = false;
        for (group, _) in known.iter().enumerate().filter(|(_, shard)| shard.is_none()) {
            let links = links(groups, group, loads.len(), |other| known[other]);
            let most = links.iter().copied().max().unwrap_or_default();
            if most == 0 {
                continue;
            }
            let best = (0..loads.len()).filter(|shard| links[*shard] == most);
            if let Some(shard) = best.min_by_key(|shard| loads[*shard]) {
                assignment[group] = Some(shard as u16);
                loads[shard] += groups.work[group];
                moved = true;
            }
        }
        if !moved {
            return;
        }
    }
}

/// Moves groups to shards with more of their links. Returns true if any moved.
fn improve(groups: &SwitchGroups, assignment: &mut [u16], loads: &mut [u64]) -> bool {
    let shards = loads.len() as u64;
    let all: u64 = loads.iter().sum();
    let mut moved = false;
    for group in 0..assignment.len() {
        let (own, work) = (usize::from(assignment[group]), groups.work[group]);
        let links = links(groups, group, loads.len(), |other| Some(assignment[other]));
        let fits = |shard: &usize| (loads[*shard] + work) * shards * 20 <= all * ROOM;
        let better = (0..loads.len()).filter(|shard| links[*shard] > links[own]).filter(fits);
        if let Some(shard) = better.max_by_key(|shard| links[*shard]) {
            loads[own] -= work;
            loads[shard] += work;
            assignment[group] = shard as u16;
            moved = true;
        }
    }
    moved
}

/// Counts the links of a group to each shard.
fn links(
    groups: &SwitchGroups,
    group: usize,
    shards: usize,
    shard_of: impl Fn(usize) -> Option<u16>,
) -> Vec<usize> {
    let mut links = vec![0; shards];
    for shard in groups.near[group].iter().filter_map(|other| shard_of(*other)) {
        links[usize::from(shard)] += 1;
    }
    links
}
