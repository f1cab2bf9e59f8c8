//! Choice of a flow's hosts: by turns, or at random, and never a host itself.

use lowtide_sim::Rng;

use crate::api::WorkloadArgs;
use crate::error::WorkloadError;

/// Returns the error for a host that has no destination except itself.
pub fn self_traffic_error(args: &WorkloadArgs) -> WorkloadError {
    let message = format!("[traffic.{}] sends from a host to itself", args.name);
    WorkloadError::at("to", message, "name another host in `to`")
}

/// Returns element `i mod length` of `hosts`, or the next one if that is `host`; `None` if that is
/// `host` too, or there are none.
pub fn nth_other(hosts: &[u32], i: u64, host: u32) -> Option<u32> {
    [i, i + 1].into_iter().filter_map(|i| nth(hosts, i)).find(|other| *other != host)
}

/// Returns element `i mod length`.
pub(crate) fn nth(hosts: &[u32], i: u64) -> Option<u32> {
    let index = i.checked_rem(hosts.len() as u64)?;
    hosts.get(usize::try_from(index).ok()?).copied()
}

/// Draws one of `hosts` except `not`, each equally likely; `None` if there is no other. `hosts` has
/// no duplicates.
pub fn random_other(rng: &mut Rng, hosts: &[u32], not: u32) -> Option<u32> {
    if hosts.iter().all(|host| *host == not) {
        return None;
    }
    loop {
        // Hosts are unique in the list, so at least half of the draws succeed.
        let host = *hosts.get(rng.below(hosts.len() as u64) as usize)?;
        if host != not {
            return Some(host);
        }
    }
}
