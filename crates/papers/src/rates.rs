//! Claims about throughput over time: convergence, variation, fairness per interval.

use std::collections::BTreeMap;

use lowtide_record::DataFrame;
use lowtide_units::{Duration, parse_duration};
use serde::Deserialize;

use super::columns::{numbers, texts};
use super::source::RunData;
use crate::throughput::Rates;

/// Rates of the sampled flows of a traffic group: `rates = "variation"`. The scenario samples them
/// (`[probes] groups`, `flows-per-group`, `interval`).
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RatesMeasure {
    /// The statistic.
    pub rates: RatesStatistic,
    /// The traffic group.
    pub group: String,
    /// Length of an interval, with samples at its multiples; without it, from sample to sample.
    #[serde(default)]
    pub every: Option<String>,
    /// Start; the start of the run if omitted.
    #[serde(default)]
    pub from: Option<String>,
    /// End; the end of the run if omitted.
    #[serde(default)]
    pub to: Option<String>,
    /// For `converged` and `reached`: maximum relative distance of each flow to the mean of all,
    /// such as 0.1.
    #[serde(default)]
    pub within: Option<f64>,
    /// The scheme; optional if there is only one.
    #[serde(default)]
    pub scheme: Option<String>,
    /// Values of swept keys.
    #[serde(default)]
    pub at: BTreeMap<String, String>,
}

/// A statistic of rates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RatesStatistic {
    /// Milliseconds after `from` from which every flow stays `within` the mean of all until `to`.
    Converged,
    /// Milliseconds after `from` until every flow is `within` the mean of all for the first time.
    Reached,
    /// Standard deviation over the intervals in Mbit/s, averaged over the flows.
    Variation,
    /// Jain's index of each interval, averaged over the intervals.
    Jain,
    /// Mean rate of a flow in Mbit/s.
    Mean,
    /// Mean rate of the slowest flow in Mbit/s.
    Slowest,
}

impl RatesMeasure {
    pub(super) fn check(&self) -> Result<(), String> {
        self.every_ps()?;
        self.span()?;
        match (self.rates, self.within) {
            (RatesStatistic::Converged | RatesStatistic::Reached, Some(share))
                if share > 0.0 && share < 1.0 =>
            {
                Ok(())
            }
            (RatesStatistic::Converged | RatesStatistic::Reached, _) => {
                Err("`converged` and `reached` need `within`, between 0 and 1".to_owned())
            }
            (_, Some(_)) => Err("`within` goes with `converged` and `reached`".to_owned()),
            _ => Ok(()),
        }
    }

    fn every_ps(&self) -> Result<u64, String> {
        let Some(every) = &self.every else { return Ok(1) };
        let every = parse_duration(every).map_err(|e| format!("`every`: {e}"))?.as_ps();
        if every > 0 { Ok(every) } else { Err("`every` must be longer than zero".to_owned()) }
    }

    fn span(&self) -> Result<(u64, u64), String> {
        let end = |text: &Option<String>, none: u64, name: &str| match text {
            None => Ok(none),
            Some(text) => {
                parse_duration(text).map(Duration::as_ps).map_err(|e| format!("`{name}`: {e}"))
            }
        };
        let (from, to) = (end(&self.from, 0, "from")?, end(&self.to, u64::MAX, "to")?);
        if from < to { Ok((from, to)) } else { Err("`from` must come before `to`".to_owned()) }
    }

    pub(super) fn values(&self, of: RunData<'_>) -> Result<Vec<Option<f64>>, String> {
        let names = ["run", "time_ps", "flow", "group", "bytes_acked"];
        let frame = of.dir.frame("probes", &names).map_err(|e| e.to_string())?;
        let runs = of.run_of_each_seed("`rates`", self.scheme.as_deref(), &self.at)?;
        runs.into_iter().map(|run| self.of_frame(&frame, run.key.run)).collect()
    }

    fn of_frame(&self, frame: &DataFrame, run: u32) -> Result<Option<f64>, String> {
        let numbers = |name: &str| numbers(frame, name);
        let groups = texts(frame, "group")?;
        let (runs, times) = (numbers("run")?, numbers("time_ps")?);
        let (flows, bytes) = (numbers("flow")?, numbers("bytes_acked")?);
        let samples = (0..frame.rows()).filter_map(|i| {
            let ours = runs[i] == Some(f64::from(run))
                && groups[i].as_deref() == Some(self.group.as_str());
            if !ours {
                return None;
            }
            Some((times[i]? as u64, flows[i]? as u64, bytes[i]?))
        });
        let span = self.span()?;
        let rates = Rates::new(samples, self.every_ps()?, span);
        let share = self.within.unwrap_or_default();
        Ok(match self.rates {
            RatesStatistic::Converged => {
                rates.convergence_time(span.0, share).map(|ps| ps as f64 / 1e9)
            }
            RatesStatistic::Reached => {
                rates.first_fair_time(span.0, share).map(|ps| ps as f64 / 1e9)
            }
            RatesStatistic::Variation => rates.rate_stddev(),
            RatesStatistic::Jain => rates.jain(),
            RatesStatistic::Mean => rates.mean(),
            RatesStatistic::Slowest => rates.slowest(),
        })
    }
}

#[cfg(test)]
mod tests {
    use lowtide_record::{FrameColumn, FrameValues};

    use super::*;

    #[test]
    fn rates_are_those_of_one_run_and_group() {
        let numbers = |name: &str, values: &[f64]| FrameColumn {
            name: name.into(),
            unit: String::new(),
            values: FrameValues::Numbers(values.iter().copied().map(Some).collect()),
        };
        let groups = ["pair", "pair", "pair", "pair", "other", "pair"];
        let frame = DataFrame::new(vec![
            numbers("run", &[3.0, 3.0, 3.0, 3.0, 3.0, 4.0]),
            numbers("time_ps", &[0.0, 0.0, 1e9, 1e9, 1e9, 1e9]),
            numbers("flow", &[0.0, 1.0, 0.0, 1.0, 2.0, 0.0]),
            numbers("bytes_acked", &[0.0, 0.0, 1000.0, 1100.0, 9e9, 9e9]),
            FrameColumn {
                name: "group".into(),
                unit: String::new(),
                values: FrameValues::Texts(groups.map(|g| Some(g.to_owned())).to_vec()),
            },
        ]);
        let of = |rates, within| RatesMeasure {
            rates,
            group: "pair".into(),
            every: Some("1 ms".into()),
            from: None,
            to: None,
            within,
            scheme: None,
            at: BTreeMap::new(),
        };
        assert_eq!(of(RatesStatistic::Mean, None).of_frame(&frame, 3), Ok(Some(8.4)));
        assert_eq!(of(RatesStatistic::Slowest, None).of_frame(&frame, 3), Ok(Some(8.0)));
        let each = RatesMeasure { every: None, ..of(RatesStatistic::Mean, None) };
        assert_eq!(each.of_frame(&frame, 3), Ok(Some(8.4)), "from sample to sample");
        assert_eq!(of(RatesStatistic::Converged, Some(0.1)).of_frame(&frame, 3), Ok(Some(1.0)));
        assert_eq!(of(RatesStatistic::Converged, Some(0.01)).of_frame(&frame, 3), Ok(None));
        assert_eq!(of(RatesStatistic::Reached, Some(0.1)).of_frame(&frame, 3), Ok(Some(1.0)));
        assert_eq!(of(RatesStatistic::Mean, None).of_frame(&frame, 5), Ok(None), "no such run");
    }
}
