//! `lowtide reproduce`: the papers' experiments, and what becomes of their claims.

use std::path::{Path, PathBuf};

use lowtide_lab::claims::{self, Expected, Judged, Mode, Row, Verdict};
use lowtide_lab::execute;
use lowtide_scenario::Plan;
use serde::Serialize;

use crate::args::ReproduceArgs;
use crate::catalogue::nearest;
use crate::cmd::run::How;
use crate::failure::Failure;
use crate::output::Output;

#[derive(Serialize)]
struct Answer {
    schema: &'static str,
    version: &'static str,
    quick: bool,
    claims: Vec<Judged>,
}

pub(crate) fn reproduce(args: &ReproduceArgs, out: Output) -> Result<(), Failure> {
    let rows = rows(&args.rows)?;
    let mode = Mode { quick: args.quick, seeds: args.seeds };
    let mut claims = Vec::new();
    for row in &rows {
        let plan = claims::plan(row, mode).map_err(Failure::from)?;
        let dir = place(args.out.as_deref(), row, &plan);
        let how = How { out: Some(&dir), jobs: args.jobs, afresh: args.afresh };
        how.go(&plan, row.scenario, out, &|options| execute(&plan, options))?;
        let judged = claims::judge(row, &dir).map_err(Failure::from)?;
        if !out.json {
            show(row, &judged, &dir, out)?;
        }
        claims.extend(judged);
    }
    if out.json {
        let (schema, version) = ("lowtide.reproduce/1", env!("CARGO_PKG_VERSION"));
        return out.json(&Answer { schema, version, quick: args.quick, claims });
    }
    // What was fitted to is no test of anything.
    let counting = || claims.iter().filter(|c| !c.calibrated);
    let counts =
        [Verdict::Reproduced, Verdict::Direction, Verdict::Undecided, Verdict::NotReproduced]
            .map(|v| format!("{} {}", counting().filter(|c| c.verdict == v).count(), v.name()));
    let fitted = claims.iter().filter(|c| c.calibrated).count();
    let apart = if fitted > 0 { format!("; {fitted} fitted, not counted") } else { String::new() };
    out.text(&format!("{} claims: {}{apart}", counting().count(), counts.join(", ")))
}

/// The experiments that were typed; all of them where nothing was.
fn rows(names: &[String]) -> Result<Vec<Row>, Failure> {
    if names.is_empty() {
        return Ok(claims::rows());
    }
    let mut rows: Vec<Row> = Vec::new();
    for name in names {
        let found = claims::find(name);
        if found.is_empty() {
            let known: Vec<String> = claims::rows().iter().map(Row::id).collect();
            let help = nearest(name, &known).map_or_else(
                || "`lowtide list experiments` names them".to_owned(),
                |n| format!("did you mean `{n}`? `lowtide list experiments` names them"),
            );
            return Err(Failure::Usage(format!("there is no experiment `{name}`"), Some(help)));
        }
        for row in found {
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

/// `runs/papers/<experiment>/<hash>`, or the same under `-o`.
fn place(out: Option<&Path>, row: &Row, plan: &Plan) -> PathBuf {
    let root = out.map_or_else(|| Path::new("runs").join("papers"), Path::to_path_buf);
    root.join(row.id()).join(plan.hash.get(..8).unwrap_or(&plan.hash))
}

fn show(row: &Row, claims: &[Judged], dir: &Path, out: Output) -> Result<(), Failure> {
    let title = Expected::parse(row.expected, &row.id()).map(|e| e.title).unwrap_or_default();
    out.text(&format!("{}: {title}\n  {}", row.id(), dir.join("report.html").display()))?;
    for claim in claims {
        let name = claim.id.split_once('/').map_or(claim.id.as_str(), |(_, name)| name);
        let unit = if claim.unit.is_empty() { String::new() } else { format!(" {}", claim.unit) };
        out.text(&format!(
            "  {:<15} {name}: {}\n{:18}paper {}{unit}, measured {}{unit}, holds {}; {}",
            claim.verdict.name(),
            claim.says,
            "",
            claim.reported.map_or_else(|| "an order".to_owned(), short),
            measured(claim),
            band(claim.band),
            claim.source,
        ))?;
        if claim.calibrated {
            out.text(&format!("{:18}fitted after a look at the result: it does not count", ""))?;
        }
        if let Some(reason) = &claim.reason {
            out.text(&format!("{:18}{reason}", ""))?;
        }
    }
    Ok(())
}

fn measured(claim: &Judged) -> String {
    match (claim.measured, claim.ci95) {
        (None, _) => "nothing".to_owned(),
        (Some(m), None) => short(m),
        (Some(m), Some([low, high])) => format!("{} ({} to {})", short(m), short(low), short(high)),
    }
}

fn band(band: [Option<f64>; 2]) -> String {
    match band {
        [Some(low), Some(high)] => format!("from {} to {}", short(low), short(high)),
        [Some(low), None] => format!("from {} on", short(low)),
        [None, Some(high)] => format!("up to {}", short(high)),
        [None, None] => "everywhere".to_owned(),
    }
}

/// Four digits are more than any figure has.
fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    let text = format!("{value:.*}", digits.clamp(0, 9) as usize);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_four_digits() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (82.47, "82.47"),
            (0.012_345, "0.01235"),
            (235_412.3, "235412"),
        ] {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn an_unknown_experiment_names_the_nearest() {
        let Err(Failure::Usage(message, help)) = rows(&["dctcp-fig01".to_owned()]) else {
            panic!("it was found");
        };
        assert!(message.contains("dctcp-fig01"));
        assert!(help.is_some_and(|h| h.contains("`dctcp-fig1`")));
    }
}
