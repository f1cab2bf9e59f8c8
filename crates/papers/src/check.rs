//! Checks before any run that the names in a claim exist: tables, columns, units, schemes, sweep
//! points, traffic groups, queues.
//!
//! Contract: a claim that passes can be measured in the full form of its experiment.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use lowtide_rows::table_columns;
use lowtide_scenario::RunPlan;
use toml::Table;

use super::measure::{ClaimMeasure, Filter, Reduce, RowsMeasure, TIME};
use super::rates::RatesStatistic;

/// Units that a claim may have, beside `share of ...`.
const UNITS: [&str; 12] =
    ["", "us", "ms", "s", "Mbit/s", "Gbit/s", "bytes", "kB", "pkt", "segments", "flows", "queries"];

/// Factors between the unit of a column and that of a claim, if `per` is not one.
const UNIT_CONVERSIONS: [(&str, &str, f64); 8] = [
    ("ps", "us", 1e6),
    ("ps", "ms", 1e9),
    ("ps", "s", 1e12),
    ("ns", "us", 1e3),
    ("ns", "ms", 1e6),
    ("ns", "s", 1e9),
    ("bytes", "kB", 1e3),
    ("packets", "pkt", 1.0),
];

/// Names in an experiment that its claims may use.
pub(super) struct ExperimentSchema<'a> {
    plan: &'a RunPlan,
    groups: Vec<String>,
    /// Queues of the networks of all points, computed on first use.
    queues: OnceCell<BTreeSet<String>>,
}

impl<'a> ExperimentSchema<'a> {
    pub(super) fn new(plan: &'a RunPlan) -> Self {
        // `resolved_toml` writes valid TOML; anything else would have no groups.
        let table: Table =
            plan.runs.first().and_then(|r| r.resolved_toml().parse().ok()).unwrap_or_default();
        let traffic = table.get("traffic").and_then(toml::Value::as_table);
        let groups = traffic.map(|t| t.keys().cloned().collect()).unwrap_or_default();
        Self { plan, groups, queues: OnceCell::new() }
    }

    /// Checks a claim: its unit, its measure, and that of the trials of a rate.
    pub(super) fn check(
        &self,
        unit: &str,
        measure: &ClaimMeasure,
        trials: Option<&ClaimMeasure>,
    ) -> Result<(), String> {
        if !UNITS.contains(&unit) && !unit.starts_with("share of ") {
            let known = UNITS[1..].join(", ");
            return Err(format!(
                "there is no unit `{unit}`; there are {known}, and `share of ...`"
            ));
        }
        self.measure(measure)?;
        match trials {
            // Both measures of a rate are counts; the unit is that of their ratio.
            Some(trials) => self.measure(trials),
            None => check_unit(measure, unit),
        }
    }

    /// Checks that a measure can be evaluated.
    pub(super) fn measure(&self, measure: &ClaimMeasure) -> Result<(), String> {
        measure.leaves().into_iter().try_for_each(|leaf| {
            self.scheme(leaf.scheme())?;
            self.point(leaf)?;
            match leaf {
                ClaimMeasure::Metric(m) => {
                    self.group(m.group.as_deref())?;
                    self.queue(m.queue.as_deref())
                }
                ClaimMeasure::Rates(r) => self.group(Some(&r.group)),
                ClaimMeasure::Windows(w) => self.queue(Some(&w.queue)),
                ClaimMeasure::Rows(rows) => self.rows(rows),
                _ => Ok(()),
            }
        })
    }

    fn scheme(&self, scheme: Option<&str>) -> Result<(), String> {
        let known = &self.plan.schemes;
        match scheme {
            None if known.len() > 1 => Err(format!("say which scheme: {}", known.join(", "))),
            Some(name) if !known.iter().any(|s| s == name) => {
                Err(format!("there is no scheme `{name}`; there are {}", known.join(", ")))
            }
            _ => Ok(()),
        }
    }

    fn group(&self, group: Option<&str>) -> Result<(), String> {
        match group.filter(|g| !self.groups.iter().any(|known| known == g)) {
            None => Ok(()),
            Some(g) => {
                Err(format!("there is no group `{g}`; there are {}", self.groups.join(", ")))
            }
        }
    }

    fn queue(&self, queue: Option<&str>) -> Result<(), String> {
        let Some(name) = queue else { return Ok(()) };
        let known = self.queues.get_or_init(|| {
            let mut of_points = BTreeMap::new();
            for run in &self.plan.runs {
                of_points.entry(&run.point).or_insert_with(|| run.queues());
            }
            of_points.into_values().flatten().collect()
        });
        if known.contains(name) {
            return Ok(());
        }
        let mut near: Vec<&str> = known.iter().map(String::as_str).collect();
        near.sort_by_key(|known| strsim::levenshtein(known, name));
        near.truncate(3);
        Err(format!("there is no queue `{name}`; near it are {}", near.join(", ")))
    }

    fn swept_keys(&self) -> impl Iterator<Item = &str> {
        self.plan.points.first().into_iter().flatten().map(|(key, _)| key.as_str())
    }

    /// The values of a swept key; empty if it is not swept.
    pub(super) fn values(&self, key: &str) -> impl Iterator<Item = &str> {
        let all = self.plan.points.iter().flatten();
        all.filter(move |(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// Each value is in the sweep, and together they select one point.
    fn point(&self, leaf: &ClaimMeasure) -> Result<(), String> {
        let at = leaf.at();
        for (key, value) in &at {
            // A filter of a table may also name a column, which `rows` checks.
            if !self.swept_keys().any(|k| k == *key) {
                if matches!(leaf, ClaimMeasure::Rows(_)) {
                    continue;
                }
                return Err(format!("`{key}` is not swept"));
            }
            let mut values = self.plan.points.iter().flatten().filter(|(k, _)| k == key);
            if !values.any(|(_, v)| v == value) {
                return Err(format!("`{key}` is never `{value}`"));
            }
        }
        match self.swept_keys().find(|key| !at.iter().any(|(k, _)| k == key)) {
            Some(key) => Err(format!("say at which `{key}`")),
            None => Ok(()),
        }
    }

    fn rows(&self, rows: &RowsMeasure) -> Result<(), String> {
        let table = rows.table.as_str();
        let known = table_columns(table).ok_or_else(|| format!("there is no table `{table}`"))?;
        let names = std::iter::once(&rows.column)
            .chain(rows.other_columns())
            .chain(rows.r#where.keys())
            .map(String::as_str)
            .chain(rows.every.as_ref().map(|_| TIME));
        let unit = |name: &str| known.iter().find(|c| c.name == name).map(|c| c.unit);
        if let Some(minus) = &rows.minus
            && unit(minus) != unit(&rows.column)
        {
            return Err(format!("`{minus}` is not in the unit of `{}`", rows.column));
        }
        // Tables that do not name queues use another column.
        self.queue(rows.r#where.get("name").and_then(Filter::text))?;
        for name in names {
            let column = known.iter().find(|c| c.name == name);
            if column.is_none()
                && !KEY_COLUMNS.contains(&name)
                && !self.swept_keys().any(|k| k == name)
            {
                let known: Vec<&str> = known.iter().map(|c| c.name).collect();
                let known = known.join(", ");
                return Err(format!("the table `{table}` has no column `{name}`; it has {known}"));
            }
            if let (Some(column), Some(filter)) = (column, rows.r#where.get(name)) {
                filter.check_unit(column.unit).map_err(|e| format!("`{name}`: {e}"))?;
            }
        }
        Ok(())
    }
}

/// Leading columns of every table, beside those of the sweep.
const KEY_COLUMNS: [&str; 3] = ["run", "scheme", "seed"];

/// Checks that a measure has the claim's unit.
fn check_unit(measure: &ClaimMeasure, unit: &str) -> Result<(), String> {
    let counted = unit.is_empty() || unit.starts_with("share of ");
    let only = |own: &str| match own {
        _ if own == unit || (own == "packets" && unit == "pkt") => Ok(()),
        // Shares, ratios and indices; counts have the paper's name for their unit.
        "" if counted || ["flows", "queries", "pkt", "segments"].contains(&unit) => Ok(()),
        _ => Err(format!("it is in `{own}`, and the claim's unit is `{unit}`")),
    };
    match measure {
        ClaimMeasure::Ratio(_) if counted => Ok(()),
        ClaimMeasure::Ratio(_) => Err(format!("a ratio is not in `{unit}`")),
        ClaimMeasure::Difference(pair) => pair.iter().try_for_each(|m| check_unit(m, unit)),
        ClaimMeasure::Sum(parts) | ClaimMeasure::Extreme(_, parts) => {
            parts.iter().try_for_each(|m| check_unit(m, unit))
        }
        // The value of a key has the unit that `per` gives it.
        ClaimMeasure::Least(least) => least.results().try_for_each(|m| check_unit(m, unit)),
        ClaimMeasure::Metric(metric) => only(metric.unit()),
        ClaimMeasure::Rates(rates) => only(match rates.rates {
            RatesStatistic::Converged | RatesStatistic::Reached => "ms",
            RatesStatistic::Variation | RatesStatistic::Mean | RatesStatistic::Slowest => "Mbit/s",
            RatesStatistic::Jain => "",
        }),
        // Per cent of a full queue, and a coefficient.
        ClaimMeasure::Windows(_) => only(""),
        ClaimMeasure::Rows(rows) => {
            if rows.over.is_some() || matches!(rows.reduce, Reduce::Count | Reduce::Jain) {
                return only("");
            }
            let found = table_columns(&rows.table).unwrap_or_default();
            let Some(column) = found.iter().find(|c| c.name == rows.column) else { return Ok(()) };
            let own = column.unit;
            let by = |per: f64| (rows.per - per).abs() < per * 1e-9;
            if let Some((_, _, per)) =
                UNIT_CONVERSIONS.iter().find(|(a, b, _)| *a == own && *b == unit)
            {
                return if by(*per) {
                    Ok(())
                } else {
                    Err(format!("`per = {per:e}` makes `{unit}` of `{own}`"))
                };
            }
            match own {
                // The segment size is a property of the experiment.
                "bytes" if unit == "segments" && rows.per > 1.0 => Ok(()),
                // Alpha and other fractions.
                "2^-20" if counted => Ok(()),
                _ if by(1.0) => only(own),
                _ => Err(format!(
                    "the column is in `{own}`, and `per` does not convert it to `{unit}`"
                )),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lowtide_scenario::Scenario;

    use super::*;
    use crate::ExperimentClaims;

    /// The error of a claim on the embedded scenario `two-flows-1g`, with K swept.
    fn check_error(unit: &str, measure: &str) -> Result<(), String> {
        let text = format!(
            "paper = \"P\"\ntitle = \"T\"\n[[claim]]\nid = \"a\"\nsays = \"b\"\nsource = \"fig. 1\"\n\
             kind = \"ordering\"\nat-most = 1\nunit = \"{unit}\"\nmeasure = {{ {measure} }}"
        );
        let expected = ExperimentClaims::parse(&text, "x").map_err(|e| e.to_string())?;
        let k = ["20 pkt".to_owned(), "30 pkt".to_owned()];
        let scenario = Scenario::load("two-flows-1g").unwrap().with_sweep("switch.mark.k", &k);
        let plan = scenario.unwrap().expand().unwrap();
        expected.claims[0].check(&ExperimentSchema::new(&plan))
    }

    const AT: &str = "at = { \"switch.mark.k\" = \"20 pkt\" }";

    #[test]
    fn a_claim_that_can_be_measured_passes() {
        let goodput = "metric = \"goodput_mbps\", group = \"pair\", scheme = \"dctcp\"";
        assert_eq!(check_error("Mbit/s", &format!("{goodput}, {AT}")), Ok(()));
        let rows = "table = \"flows\", column = \"fct_ps\", per = 1e9, reduce = \"mean\", \
                    where = { scheme = \"dctcp\", \"switch.mark.k\" = \"30 pkt\", start_ps = { from = \"1 s\" } }";
        assert_eq!(check_error("ms", rows), Ok(()));
        let jain = "rates = \"jain\", group = \"pair\", every = \"1 ms\", scheme = \"dctcp\"";
        assert_eq!(check_error("", &format!("{jain}, {AT}")), Ok(()));
    }

    #[test]
    fn unknown_names_are_rejected_with_the_known_ones() {
        let metric = |name: &str, of: &str| format!("metric = \"{name}\", {of}");
        let rows = |column: &str, filter: &str| {
            format!(
                "table = \"flows\", column = \"{column}\", reduce = \"mean\", where = {{ scheme = \
                 \"dctcp\", \"switch.mark.k\" = \"20 pkt\"{filter} }}"
            )
        };
        let dctcp = format!("group = \"pair\", scheme = \"dctcp\", {AT}");
        for (unit, measure, says) in [
            ("furlong", metric("goodput_mbps", &dctcp), "no unit `furlong`; there are us, ms"),
            ("ms", metric("goodput_mbps", &dctcp), "in `Mbit/s`, and the claim's unit is `ms`"),
            ("ms", metric("goodput", &dctcp), "no metric `goodput`; there are"),
            ("Mbit/s", metric("goodput_mbps", "group = \"pair\""), "say which scheme: sack, dctcp"),
            (
                "Mbit/s",
                metric("goodput_mbps", "group = \"pair\", scheme = \"cubic\""),
                "no scheme `cubic`",
            ),
            ("Mbit/s", metric("goodput_mbps", &dctcp.replace("pair", "pairs")), "no group `pairs`"),
            (
                "Mbit/s",
                metric("goodput_mbps", &dctcp.replace("20 pkt", "21 pkt")),
                "is never `21 pkt`",
            ),
            ("Mbit/s", metric("goodput_mbps", &dctcp.replace("mark.k", "mark.g")), "is not swept"),
            (
                "Mbit/s",
                metric("goodput_mbps", "group = \"pair\", scheme = \"dctcp\""),
                "say at which `switch.mark.k`",
            ),
            ("ms", rows("fct", ""), "no column `fct`; it has flow, group"),
            ("ms", rows("fct_ps", ""), "`per = 1e9` makes `ms` of `ps`"),
            ("bytes", rows("size_bytes", ", start = 1"), "no column `start`"),
            (
                "bytes",
                rows("size_bytes", ", start_ps = \"1 kB\""),
                "`1 kB` is no value of a column in `ps`",
            ),
            ("ms", rows("fct_ps", "").replace("flows", "flow"), "no table `flow`"),
            (
                "pkt",
                metric(
                    "seen.p99_packets",
                    &format!("queue = \"switch->receiver\", scheme = \"dctcp\", {AT}"),
                ),
                "no queue `switch->receiver`; near it are switch0->receiver",
            ),
            (
                "pkt",
                rows("packets", ", name = \"switch0->receiver7\"")
                    .replace("flows", "queue_samples"),
                "no queue `switch0->receiver7`; near it are switch0->receiver",
            ),
        ] {
            let error = check_error(unit, &measure).unwrap_err();
            assert!(error.contains(says), "{unit} {measure}: {error}");
        }
    }
}
