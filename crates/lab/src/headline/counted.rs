//! The sentence about the flows that count.

use lowtide_charts::number;

use crate::results::Results;

/// Returns the sentence about which flows the statistics count.
pub(crate) fn counted(results: &Results) -> String {
    let warmup = results.runs.iter().map(|run| run.warmup_ms).fold(0.0, f64::max);
    let groups = || results.runs.iter().flat_map(|run| &run.groups);
    let flows: u64 = groups().map(|g| g.samples.fct_ms.count()).sum();
    let early: usize = groups().map(|g| g.in_warmup).sum();
    let from = if warmup <= 0.0 {
        "from the start, as no warm-up is stated".to_owned()
    } else {
        format!("after the warm-up of {} ms", number(warmup))
    };
    let queries: usize = results.runs.iter().flat_map(|run| &run.queries).map(|q| q.queries).sum();
    if flows == 0 && early == 0 && queries > 0 {
        return format!("{queries} queries count, as queues and goodput do, {from}.");
    }
    let collectives = results.runs.iter().flat_map(|run| &run.collectives);
    let iterations: usize = collectives.map(|c| c.iterations).sum();
    if flows == 0 && early == 0 && iterations > 0 {
        return format!("{iterations} iterations count, as queues and goodput do, {from}.");
    }
    if flows == 0 && early == 0 {
        return format!("No flow has a size; queues and goodput count {from}.");
    }
    let open_loop = results.runs.iter().any(|run| run.open_loop.is_some());
    let load = if open_loop { " Later arrivals only keep the load up." } else { "" };
    if warmup <= 0.0 {
        return format!(
            "No warm-up is stated: all {flows} flows with a size count, and queues and goodput count from the start.{load}"
        );
    }
    let flows = if early == 0 {
        format!("All {flows} flows with a size count")
    } else {
        format!(
            "{flows} flows with a size count, without the {early} that arrived during the warm-up"
        )
    };
    format!("{flows}; queries, queues and goodput count {from}.{load}")
}
