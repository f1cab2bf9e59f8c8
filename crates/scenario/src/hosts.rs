//! Host references: `senders`, `senders.0`, `senders[0..2]`. Hosts of a group are numbered from
//! zero; the end of a range is exclusive.

use std::collections::BTreeSet;

use crate::diagnostics::Diagnostics;
use crate::error::suggest;
use crate::range::HostRange;
use crate::toml_tree::SourceSpan;

/// A group of hosts: its name and its range.
pub(crate) type NamedHostRange<'a> = (&'a str, HostRange);

/// Resolves references to hosts, in their order; reports errors and returns `None` if one is
/// invalid.
pub(crate) fn resolve(
    names: &[(String, SourceSpan)],
    groups: &[NamedHostRange<'_>],
    diagnostics: &mut Diagnostics<'_>,
) -> Option<Vec<u32>> {
    let mut hosts = Vec::new();
    let mut seen = BTreeSet::new();
    let mut good = true;
    for (text, at) in names {
        match resolve_one(text, groups) {
            Ok(range) => {
                let repeated =
                    (range.first..range.end()).filter(|host| !seen.insert(*host)).count();
                if repeated > 0 {
                    diagnostics.add(*at, format!("`{text}` names a host twice"), None);
                    good = false;
                }
                hosts.extend(range.first..range.end());
            }
            Err((message, help)) => {
                diagnostics.add(*at, message, help);
                good = false;
            }
        }
    }
    good.then_some(hosts)
}

pub(crate) fn resolve_one(
    text: &str,
    groups: &[NamedHostRange<'_>],
) -> Result<HostRange, (String, Option<String>)> {
    let (name, part) = match text.split_once(['.', '[']) {
        Some((name, part)) => (name, Some(part)),
        None => (text, None),
    };
    let Some(&(_, group)) = groups.iter().find(|(n, _)| *n == name) else {
        let names: Vec<&str> = groups.iter().map(|(n, _)| *n).collect();
        return Err((format!("no host group `{name}`"), suggest(name, &names)));
    };
    let Some(part) = part else { return Ok(group) };
    let malformed = || {
        let message = format!("`{text}` names no hosts");
        let help = format!("write `{name}`, `{name}.0`, or `{name}[0..2]` for the first two");
        (message, Some(help))
    };
    let number = |text: &str| text.parse::<u32>().map_err(|_| malformed());
    let range = if text[name.len()..].starts_with('.') {
        None
    } else {
        let inner = part.strip_suffix(']').ok_or_else(malformed)?;
        Some(inner.split_once("..").ok_or_else(malformed)?)
    };
    let (start, end) = if let Some((start, end)) = range {
        (number(start)?, number(end)?)
    } else {
        let index = number(part)?;
        (index, index.saturating_add(1))
    };
    if start >= end {
        return Err(malformed());
    }
    if end > group.count {
        let count = group.count;
        let message = format!("`{text}` goes beyond the {count} hosts of [hosts.{name}]");
        let help = format!("they are numbered 0 to {}", count.saturating_sub(1));
        return Err((message, Some(help)));
    }
    Ok(HostRange { first: group.first + start, count: end - start })
}
