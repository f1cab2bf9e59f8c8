//! Effects of a move by thresholds, and the sentence that says who pays.

use serde::Serialize;

use super::flows::ClassPair;
use super::result::{ALL_SIZES, RolloutResult, RolloutRow};
use super::statistics::Estimate;
use crate::request::MovedEnds;
use crate::thresholds::RolloutThresholds;

/// Effect of a move on a 99th percentile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// The ratio is at least `harm`, and its whole interval is above 1.
    Harmful,
    /// The ratio is at most `benefit`, and its whole interval is below 1.
    Better,
    /// The whole interval is below `harm`.
    Safe,
    /// The interval allows several effects, or there is none.
    Undecided,
    /// A percentile is absent: too few flows, or unfinished flows could change it.
    NoValue,
}

impl Effect {
    pub(super) fn of(ratio: Option<Estimate>, thresholds: RolloutThresholds) -> Self {
        let Some(Estimate { value, ci95 }) = ratio else { return Self::NoValue };
        match ci95 {
            Some([low, _]) if value >= thresholds.harm && low > 1.0 => Self::Harmful,
            Some([_, high]) if value <= thresholds.benefit && high < 1.0 => Self::Better,
            Some([_, high]) if high < thresholds.harm => Self::Safe,
            _ => Self::Undecided,
        }
    }

    /// Returns the name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Harmful => "harmful",
            Self::Better => "better",
            Self::Safe => "safe",
            Self::Undecided => "undecided",
            Self::NoValue => "no value",
        }
    }
}

/// All effects, in the order of the sentence.
const EFFECTS: [Effect; 5] =
    [Effect::Harmful, Effect::Better, Effect::Safe, Effect::Undecided, Effect::NoValue];

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
pub(super) fn sentence(result: &RolloutResult) -> String {
    let rows = || result.rows.iter().filter(|r| r.sizes == ALL_SIZES);
    let moved = |pair: &&str| rows().any(|r| r.pair == *pair && r.effect.is_some());
    let pairs: Vec<&str> = ClassPair::ALL.map(ClassPair::name).into_iter().filter(moved).collect();
    let of = |pair: &str, effect| {
        rows().filter(|r| r.pair == pair && r.effect == Some(effect)).collect::<Vec<_>>()
    };
    let with = |effect: Effect| {
        let names = pairs.iter().filter(|pair| !of(pair, effect).is_empty());
        names.map(|p| (*p).to_owned()).collect::<Vec<_>>()
    };
    let (payers, winners) = (with(Effect::Harmful), with(Effect::Better));
    let who = |names: &[String], verb: [&str; 2], none: &str| match names {
        [] => none.to_owned(),
        [one] => format!("{one} {}", verb[0]),
        many => format!("{} {}", listed(many), verb[1]),
    };
    let details: Vec<String> = pairs
        .iter()
        .map(|pair| {
            let parts = EFFECTS.iter().filter_map(|effect| part(*effect, &of(pair, *effect)));
            let safe = result.pairs.iter().find(|p| p.pair == *pair && p.sizes == ALL_SIZES);
            let safe = safe.and_then(|p| p.safe_from_percent);
            let from = safe.map(|share| format!("not harmful from {} on", percent(share)));
            let parts: Vec<String> = parts.chain(from).collect();
            format!("{pair} is {}", parts.join(", "))
        })
        .collect();
    let ends = match result.moves {
        MovedEnds::Both => "hosts",
        MovedEnds::Senders => "senders",
        MovedEnds::Receivers => "receivers",
    };
    format!(
        "{}, and {}, when {ends} move from {} to {}, by the 99th percentile of the slowdown over \
         that of the same flows before the move: {}.",
        who(&payers, ["pays", "pay"], "no pair is shown to pay"),
        who(&winners, ["gains", "gain"], "no pair is shown to gain"),
        result.from,
        result.to,
        details.join("; ")
    )
}

/// Returns the shares of one effect, and the ratio that is farthest from 1.
fn part(effect: Effect, rows: &[&RolloutRow]) -> Option<String> {
    let distance =
        |r: &&&RolloutRow| r.ratio.and_then(|r| r.p99).map_or(0.0, |e| e.value.ln().abs());
    let most = rows.iter().max_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    let shares: Vec<String> = rows.iter().map(|r| percent(r.share_percent)).collect();
    let value = most.ratio.and_then(|r| r.p99).map_or_else(String::new, |e| {
        let place = if rows.len() > 1 {
            format!("at {} ", percent(most.share_percent))
        } else {
            String::new()
        };
        let interval = e.ci95.map_or_else(
            || ", no interval".to_owned(),
            |[low, high]| format!(", 95 % interval {} to {}", number(low), number(high)),
        );
        format!(" ({place}{} times{interval})", number(e.value))
    });
    let name = match effect {
        Effect::NoValue => "without a value",
        other => other.name(),
    };
    Some(format!("{name} at {}{value}", listed(&shares)))
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

/// Formats a number with three significant digits.
pub(super) fn number(value: f64) -> String {
    let whole = value.abs().log10().floor() as i32 + 1;
    format!("{value:.*}", usize::try_from(3 - whole.max(1)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_follow_the_thresholds_and_the_interval() {
        let effect =
            |value, ci95| Effect::of(Some(Estimate { value, ci95 }), RolloutThresholds::default());
        for (value, interval, wanted) in [
            (1.2, [1.05, 1.4], Effect::Harmful),
            (1.2, [0.99, 1.5], Effect::Undecided),
            (1.05, [1.01, 1.09], Effect::Safe),
            (1.05, [1.01, 1.2], Effect::Undecided),
            (0.8, [0.7, 0.95], Effect::Better),
            (0.8, [0.6, 1.05], Effect::Safe),
            (0.95, [0.93, 0.97], Effect::Safe),
        ] {
            assert_eq!(effect(value, Some(interval)), wanted, "{value} {interval:?}");
        }
        assert_eq!(effect(3.0, None), Effect::Undecided);
        assert_eq!(Effect::of(None, RolloutThresholds::default()), Effect::NoValue);
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(
            [0.5, 1.234, 12.34, 123.4, 1234.5].map(number),
            ["0.50", "1.23", "12.3", "123", "1234"]
        );
        assert_eq!([0.0, 12.5, 100.0 / 3.0].map(percent), ["0 %", "12.5 %", "33.3333 %"]);
    }
}
