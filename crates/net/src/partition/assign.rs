//! Groups of switches into parts that have about the same to do, with few links between them.

use super::groups::SwitchGroups;

/// How often all groups are looked at for a better place.
const ROUNDS: usize = 4;
/// A part may get so many twentieths of its fair share when a group moves to it.
const ROOM: u64 = 21;

/// The part of each group; `None` when a part would be empty.
///
/// Racks that follow one another in the order of hosts go together: so it is in every topology that is made
/// from numbers. A switch without hosts goes where most of its links lead, and of several such parts to the
/// one with the least to do. Then single groups move where they have more links, as long as that is even.
pub(super) fn assign(groups: &SwitchGroups, parts: usize) -> Option<Vec<u16>> {
    let mut places: Vec<Option<u16>> = vec![None; groups.work.len()];
    let mut loads = vec![0_u64; parts];
    let all: u64 = groups.homes.iter().map(|g| groups.work[*g]).sum();
    let mut before = 0;
    for &group in &groups.homes {
        let work = groups.work[group];
        let part = ((before + work / 2) * parts as u64).checked_div(all).unwrap_or_default();
        let part = (part as usize).min(parts - 1);
        places[group] = Some(part as u16);
        loads[part] += work;
        before += work;
    }
    attach(groups, &mut places, &mut loads);
    let mut places: Vec<u16> = places.into_iter().map(Option::unwrap_or_default).collect();
    for _ in 0..ROUNDS {
        if !improve(groups, &mut places, &mut loads) {
            break;
        }
    }
    loads.iter().all(|load| *load > 0).then_some(places)
}

/// Gives a place to all groups that have none, from near to far.
fn attach(groups: &SwitchGroups, places: &mut [Option<u16>], loads: &mut [u64]) {
    loop {
        let known = places.to_vec();
        let mut moved = false;
        for (group, _) in known.iter().enumerate().filter(|(_, place)| place.is_none()) {
            let links = links(groups, group, loads.len(), |other| known[other]);
            let most = links.iter().copied().max().unwrap_or_default();
            if most == 0 {
                continue;
            }
            let best = (0..loads.len()).filter(|part| links[*part] == most);
            if let Some(part) = best.min_by_key(|part| loads[*part]) {
                places[group] = Some(part as u16);
                loads[part] += groups.work[group];
                moved = true;
            }
        }
        if !moved {
            return;
        }
    }
}

/// Moves groups to where they have more links; whether any moved.
fn improve(groups: &SwitchGroups, places: &mut [u16], loads: &mut [u64]) -> bool {
    let parts = loads.len() as u64;
    let all: u64 = loads.iter().sum();
    let mut moved = false;
    for group in 0..places.len() {
        let (own, work) = (usize::from(places[group]), groups.work[group]);
        let links = links(groups, group, loads.len(), |other| Some(places[other]));
        let fits = |part: &usize| (loads[*part] + work) * parts * 20 <= all * ROOM;
        let better = (0..loads.len()).filter(|part| links[*part] > links[own]).filter(fits);
        if let Some(part) = better.max_by_key(|part| links[*part]) {
            loads[own] -= work;
            loads[part] += work;
            places[group] = part as u16;
            moved = true;
        }
    }
    moved
}

/// How many links a group has to each part.
fn links(
    groups: &SwitchGroups,
    group: usize,
    parts: usize,
    place: impl Fn(usize) -> Option<u16>,
) -> Vec<usize> {
    let mut links = vec![0; parts];
    for part in groups.near[group].iter().filter_map(|other| place(*other)) {
        links[usize::from(part)] += 1;
    }
    links
}
