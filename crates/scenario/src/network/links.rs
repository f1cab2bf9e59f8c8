//! Links by name: `leaf0-spine1` is the link between these two nodes.

use lowtide_net::topology::{NamedLink, REGISTRY};
use lowtide_net::{Blueprint, LinkSpec, NodeId};

use super::LocatedError;
use crate::error::nearest;
use crate::model::{ScenarioModel, SpannedName};

/// Most link names that are searched for the nearest one.
const MAX_NAMES: usize = 20_000;

/// Finds the link `named`, or the `nth` of parallel ones. The flag is set if its end `a` is second
/// in the name.
pub(super) fn find(
    plan: &Blueprint,
    model: &ScenarioModel,
    named: &SpannedName,
    nth: u32,
) -> Result<(usize, bool), LocatedError> {
    let text = named.name.as_str();
    let fail = |message, help| Err(LocatedError { at: named.at, message, help });
    let entry = model.topology.entry;
    if let Some(NamedLink { ends: [a, b], .. }) = entry.named_link(text)
        && let Some(link) = plan.find_link(a, b, 0)
    {
        return Ok((link, plan.name(plan.links[link].a) != *a));
    }
    if REGISTRY.all().any(|other| other.named_link(text).is_some()) {
        let message = format!("a {} has no link called `{text}`", entry.name);
        let help = "name a host group, or a link by its ends: `leaf0-spine1`".to_owned();
        return fail(message, Some(help));
    }
    let known = |name: &str| {
        plan.switches.iter().any(|s| s.name == name) || plan.hosts.iter().any(|h| h == name)
    };
    for (i, _) in text.match_indices('-') {
        let (a, b) = (&text[..i], &text[i + 1..]);
        if !known(a) || !known(b) {
            continue;
        }
        if let Some(link) = plan.find_link(a, b, nth as usize) {
            return Ok((link, plan.name(plan.links[link].a) != a));
        }
        let n = (0..nth as usize).take_while(|n| plan.find_link(a, b, *n).is_some()).count();
        let help = match n {
            0 => Some(format!("`{a}` has links to {}", neighbours(plan, a))),
            n => Some(format!("there are {n}, numbered 0 to {}", n - 1)),
        };
        let message = match n {
            0 => format!("there is no link between `{a}` and `{b}`"),
            _ => format!("there is no link number {nth} between `{a}` and `{b}`"),
        };
        return fail(message, help);
    }
    let names: Vec<String> = plan
        .links
        .iter()
        .take(MAX_NAMES)
        .map(|link| format!("{}-{}", plan.name(link.a), plan.name(link.b)))
        .collect();
    let groups = model.hosts.iter().map(|g| g.name.as_str());
    let near = nearest(text, groups.chain(names.iter().map(String::as_str)));
    let help = match (near, names.last()) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, Some(last)) => format!("a link is named by its ends, as `{last}`"),
        (None, None) => return fail(format!("no link `{text}`"), None),
    };
    fail(format!("no link `{text}`"), Some(help))
}

/// Returns all links between switches of two kinds, `leaf-spine`: a kind is a name without its
/// number. The flag is set if the link's end `a` is of the second kind.
pub(super) fn of_kinds(plan: &Blueprint, text: &str) -> Vec<(usize, bool)> {
    let kind = |node| match node {
        NodeId::Host(_) => "",
        NodeId::Switch(_) => plan.name(node).trim_end_matches(|c: char| c.is_ascii_digit()),
    };
    let is_named = |[a, b]: [&str; 2]| {
        !a.is_empty()
            && !b.is_empty()
            && text.strip_prefix(a).and_then(|t| t.strip_prefix('-')) == Some(b)
    };
    let of = |(i, link): (usize, &LinkSpec)| {
        let (a, b) = (kind(link.a), kind(link.b));
        if is_named([a, b]) { Some((i, false)) } else { is_named([b, a]).then_some((i, true)) }
    };
    plan.links.iter().enumerate().filter_map(of).collect()
}

/// Lists up to eight neighbours of a node.
fn neighbours(plan: &Blueprint, name: &str) -> String {
    let mut out: Vec<&str> = Vec::new();
    for link in &plan.links {
        let ends: [NodeId; 2] = [link.a, link.b];
        let [a, b] = ends.map(|node| plan.name(node));
        let other = if a == name { b } else { a };
        if (a == name || b == name) && !out.contains(&other) {
            out.push(other);
        }
        if out.len() == 8 {
            break;
        }
    }
    out.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}
