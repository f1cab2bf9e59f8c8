//! Who pays for a move: the shares that harm a pair of classes, and the sentence about all pairs.

use lowtide_scenario::MovedSides;
use serde::Serialize;

use super::effect::Effect;
use super::flows::ClassPair;
use super::rollout_row::{ALL_SIZES, RolloutRow};
use crate::estimate::number;
use crate::request::RolloutRequest;

/// The shares at which a pair of classes is harmed or safe.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PairEffect {
    /// The classes of sender and receiver: `old>new`.
    pub pair: &'static str,
    /// Range of flow sizes, or `all`.
    pub sizes: String,
    /// The least share from which on every share is safe or better, in percent.
    pub safe_from_percent: Option<f64>,
    /// The least share from which on every share is harmful, in percent.
    pub harmful_from_percent: Option<f64>,
    /// All harmful shares, in percent.
    pub harmful_at_percent: Vec<f64>,
}

impl PairEffect {
    /// Summarises the rows of one pair and size class, in the order of their shares.
    pub(super) fn of(rows: &[&RolloutRow]) -> Option<Self> {
        let first = rows.first()?;
        let from = |is: fn(Effect) -> bool| {
            let last = rows.iter().rev().take_while(|r| r.effect.is_some_and(is)).last();
            last.map(|r| r.share_percent)
        };
        let harmful = |r: &&&RolloutRow| r.effect == Some(Effect::Harmful);
        Some(Self {
            pair: first.pair,
            sizes: first.sizes.clone(),
            safe_from_percent: from(|e| matches!(e, Effect::Safe | Effect::Better)),
            harmful_from_percent: from(|e| e == Effect::Harmful),
            harmful_at_percent: rows.iter().filter(harmful).map(|r| r.share_percent).collect(),
        })
    }
}

/// Returns the sentence that says who pays, who gains, and from which share on.
pub(super) fn sentence(request: &RolloutRequest, rows: &[RolloutRow]) -> String {
    let ends = match request.moves {
        MovedSides::Both => "hosts",
        MovedSides::Senders => "senders",
        MovedSides::Receivers => "receivers",
    };
    let move_of = format!("When {ends} move from {} to {}", request.from, request.to);
    if rows.is_empty() {
        return format!(
            "{move_of}, no flow has a size: only goodput, queues and queries are compared."
        );
    }
    let clause = |effect: Effect| {
        let of_pair = |pair: ClassPair| {
            let rows: Vec<&RolloutRow> = rows
                .iter()
                .filter(|r| r.sizes == ALL_SIZES && r.pair == pair.name() && r.effect.is_some())
                .collect();
            let chosen: Vec<&RolloutRow> =
                rows.iter().copied().filter(|r| r.effect == Some(effect)).collect();
            let shares = shares(&chosen, &rows)?;
            let numbers = match effect {
                Effect::Harmful | Effect::Better => farthest(&chosen).unwrap_or_default(),
                _ => String::new(),
            };
            Some(format!("{} {shares}{numbers}", pair.name()))
        };
        let pairs: Vec<String> = ClassPair::ALL.into_iter().filter_map(of_pair).collect();
        (!pairs.is_empty()).then(|| pairs.join(", "))
    };
    let named = |effect, name: &str| clause(effect).map(|pairs| format!("{name}: {pairs}"));
    let pays = named(Effect::Harmful, "these pay");
    let gains = named(Effect::Better, "these gain");
    let all = [
        Some(pays.unwrap_or_else(|| "no pair is shown to pay".to_owned())),
        Some(gains.unwrap_or_else(|| "no pair is shown to gain".to_owned())),
        named(Effect::Safe, "safe"),
        named(Effect::Undecided, "undecided"),
        named(Effect::NoValue, "too few flows"),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    format!(
        "{move_of}, {} (pairs are sender>receiver; times are the 99th \
         percentile of the slowdown over that of the same flows before the move, with 95 % \
         intervals).",
        all.join("; ")
    )
}

/// Names the shares of `chosen`, which are some of `rows`.
fn shares(chosen: &[&RolloutRow], rows: &[&RolloutRow]) -> Option<String> {
    let first = percent(chosen.first()?.share_percent);
    if chosen.len() == rows.len() && rows.len() > 1 {
        return Some("at every share".to_owned());
    }
    if chosen.len() > 1 && rows.ends_with(chosen) {
        return Some(format!("from {first} on"));
    }
    let all: Vec<String> = chosen.iter().map(|r| percent(r.share_percent)).collect();
    Some(format!("at {}", listed(&all)))
}

/// Returns the ratio that is farthest from 1, with its interval.
fn farthest(rows: &[&RolloutRow]) -> Option<String> {
    let ratio = |row: &RolloutRow| row.ratio.and_then(|r| r.p99);
    let known = rows.iter().filter_map(|row| Some((row.share_percent, ratio(row)?)));
    let (share, e) =
        known.max_by(|(_, a), (_, b)| a.value.ln().abs().total_cmp(&b.value.ln().abs()))?;
    let [low, high] = e.ci95?.map(number);
    let place = if rows.len() > 1 { format!(" at {}", percent(share)) } else { String::new() };
    Some(format!(" ({} times{place}, {low} to {high})", number(e.value)))
}

/// Joins names with commas and `and`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Formats a share.
pub(super) fn percent(share: f64) -> String {
    let text = format!("{share:.4}");
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_no_trailing_zeros() {
        assert_eq!([0.0, 12.5, 100.0 / 3.0].map(percent), ["0 %", "12.5 %", "33.3333 %"]);
    }
}
