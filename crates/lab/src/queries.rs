//! Facts of queries: completion times, deadlines and timeouts per traffic group.
//!
//! Contract: only counted queries count ([`QueryRow::is_counted`]). No statistic silently omits a
//! censored or failed query: see [`CompletionTimes`]. The share of queries with a timeout counts
//! all queries, finished or not.

use std::sync::Arc;

use lowtide_rows::{FlowStatus, QueryRow};
use lowtide_stats::Sample;
use serde::Serialize;

use crate::samples::{Timed, times_ms};
use crate::times::CompletionTimes;

/// The queries of one traffic group in one run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct QueryFacts {
    /// The traffic group.
    pub name: String,
    /// Number of counted queries.
    pub queries: usize,
    /// Further queries that began during the warm-up and are not counted.
    pub in_warmup: usize,
    /// Queries censored by the end of the run.
    pub unfinished: usize,
    /// Queries that failed.
    pub failed: usize,
    /// Time from the client's request to the last byte of the last answer.
    pub qct_ms: CompletionTimes,
    /// Queries with a retransmission timeout at either end.
    pub with_timeout: usize,
    /// Share of queries with a timeout.
    pub timeout_fraction: Option<f64>,
    /// Queries whose answers all arrived before the deadline; null without deadlines.
    pub deadlines_met: Option<usize>,
    /// Share of the queries whose deadline was before the end of the run.
    pub deadline_fraction: Option<f64>,
    /// Payload bytes sent more than once by their connections.
    pub retx_bytes: u64,
    /// The completion times, milliseconds.
    #[serde(skip)]
    pub(crate) sample: Arc<Sample>,
}

/// Returns the queries of every group that has any.
pub(crate) fn facts(rows: &[QueryRow], ended_ps: u64) -> Vec<QueryFacts> {
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        if !names.contains(&row.group.as_str()) {
            names.push(&row.group);
        }
    }
    let of = |name: &&str| {
        let own = rows.iter().filter(|q| q.group == **name);
        let (counted, others): (Vec<_>, Vec<_>) = own.partition(|q| q.is_counted());
        let in_warmup = others.into_iter().filter(|q| q.in_warmup).count();
        QueryFacts { in_warmup, ..QueryFacts::new(name, &counted, ended_ps) }
    };
    names.iter().map(of).collect()
}

impl QueryFacts {
    fn new(name: &str, rows: &[&QueryRow], ended_ps: u64) -> Self {
        let count = |status: FlowStatus| rows.iter().filter(|q| q.status == status).count();
        let with_timeout = rows.iter().filter(|q| q.timeouts > 0).count();
        let judged: Vec<bool> = rows.iter().filter_map(|q| q.deadline_met).collect();
        let met = judged.iter().filter(|met| **met).count();
        let share = |part: usize, all: usize| (all > 0).then(|| part as f64 / all as f64);
        let timed = rows.iter().map(|q| Timed {
            took_ps: q.qct_ps,
            age_ps: ended_ps.saturating_sub(q.start_ps),
            failed: q.status == FlowStatus::Failed,
        });
        let sample = times_ms(timed);
        Self {
            name: name.to_owned(),
            queries: rows.len(),
            in_warmup: 0,
            unfinished: count(FlowStatus::Unfinished),
            failed: count(FlowStatus::Failed),
            qct_ms: CompletionTimes::new(&sample),
            with_timeout,
            timeout_fraction: share(with_timeout, rows.len()),
            deadlines_met: (!judged.is_empty()).then_some(met),
            deadline_fraction: share(met, judged.len()),
            retx_bytes: rows.iter().map(|q| q.bytes_retrans).sum(),
            sample: Arc::new(sample),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(qct_ms: Option<u64>, timeouts: u64, deadline_met: Option<bool>) -> QueryRow {
        let qct_ps = qct_ms.map(|t| t * 1_000_000_000);
        QueryRow {
            group: "web".into(),
            query_client: 0,
            query: 0,
            client: "clients.0".into(),
            fan_out: 10,
            start_ps: 0,
            end_ps: qct_ps,
            qct_ps,
            answer_bytes: 1_000_000,
            deadline_met,
            timeouts,
            bytes_retrans: 1448 * timeouts,
            in_warmup: false,
            counted: None,
            status: if qct_ms.is_some() { FlowStatus::Complete } else { FlowStatus::Unfinished },
            error: None,
        }
    }

    #[test]
    fn timeouts_and_deadlines_are_shares_of_queries() {
        let mut rows: Vec<QueryRow> =
            (1..=9).map(|ms| query(Some(ms), u64::from(ms > 7) * 2, Some(ms <= 6))).collect();
        rows.push(query(None, 1, None));
        rows.push(QueryRow { in_warmup: true, ..query(Some(500), 7, Some(false)) });
        let found = facts(&rows, 400_000_000_000);
        let [web] = found.as_slice() else { panic!("one group: {found:?}") };
        assert_eq!((web.queries, web.unfinished, web.failed), (10, 1, 0));
        assert_eq!((web.with_timeout, web.timeout_fraction), (3, Some(0.3)));
        assert_eq!((web.deadlines_met, web.deadline_fraction), (Some(6), Some(6.0 / 9.0)));
        assert_eq!(web.retx_bytes, 1448 * 5);
        assert_eq!((web.qct_ms.mean, web.qct_ms.p50), (None, Some(5.0)), "one was cut off");
        rows.remove(9);
        assert_eq!(facts(&rows, 1)[0].qct_ms.mean, Some(5.0), "the warm-up does not count");
    }

    #[test]
    fn without_deadlines_there_is_no_deadline_share() {
        let found = facts(&[query(Some(1), 0, None)], 1);
        assert_eq!((found[0].deadlines_met, found[0].deadline_fraction), (None, None));
        assert!(facts(&[], 1).is_empty());
    }
}
