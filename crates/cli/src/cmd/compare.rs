//! `lowtide compare`: results compared seed by seed.

mod columns;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lowtide_lab::compare::{CompareOptions, ComparedMetric, Comparison, compare as differences};
use lowtide_lab::{
    CompletedExperiment, MetricSubject, Mismatch, Transports, execute, load, point_text,
};
use lowtide_record::SweepPoint;
use lowtide_scenario::Scenario;
use serde::Serialize;

use crate::args::CompareArgs;
use crate::cmd::run::PlanRunner;
use crate::cmd::{set, split};
use crate::error::CommandError;
use crate::output::Output;

/// File that every run directory has.
const MANIFEST: &str = "manifest.json";

#[derive(Serialize)]
struct CompareOutput<'a> {
    a: CompareSide<'a>,
    b: CompareSide<'a>,
    same_within: f64,
    fail_above: Option<f64>,
    failed: usize,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

#[derive(Serialize)]
struct CompareSide<'a> {
    name: &'a str,
    dir: PathBuf,
    scenario: &'a str,
    scenario_hash: &'a str,
    labels: BTreeMap<String, String>,
    mismatches: Vec<Mismatch>,
}

pub(crate) fn compare(args: &CompareArgs, out: Output) -> Result<(), CommandError> {
    let wanted = compare_options(args)?;
    if !args.backends.is_empty() || !args.more.is_empty() {
        return columns::compare(args, &wanted, out);
    }
    let a = results(&args.a, args, &[], out)?;
    let name_b = args.b.as_deref().unwrap_or(&args.a);
    let b = results(name_b, args, &args.with, out)?;
    let found = differences(&a.results, &b.results, &wanted)?;
    let failed = found.rows.iter().filter(|r| r.fails).count();
    if out.json {
        let body = CompareOutput {
            a: side(&args.a, &a),
            b: side(name_b, &b),
            same_within: args.same,
            fail_above: args.fail_above,
            failed,
            comparison: &found,
        };
        out.answer("lowtide.compare/3", &body)?;
    } else {
        show(&a, &b, &wanted, &found, out)?;
    }
    match args.fail_above {
        Some(limit) if failed > 0 => Err(CommandError::Unmet(format!(
            "{failed} metrics are worse by more than {} % over their whole interval",
            limit * 100.0
        ))),
        _ => Ok(()),
    }
}

fn compare_options(args: &CompareArgs) -> Result<CompareOptions, CommandError> {
    let pair = |text: &String| {
        let (a, b) = split(text, "--pair", "A=B")?;
        Ok((a.to_owned(), b.to_owned()))
    };
    Ok(CompareOptions {
        metrics: args.metric.clone(),
        queues: args.queue.clone(),
        buffer_pools: args.buffer_pool.clone(),
        schemes: args.pair.iter().map(pair).collect::<Result<_, CommandError>>()?,
        same_within: args.same,
        fail_above: args.fail_above,
    })
}

fn side<'a>(name: &'a str, of: &'a CompletedExperiment) -> CompareSide<'a> {
    let (m, transports) = (&of.manifest, of.transports());
    CompareSide {
        name,
        dir: of.dir.clone(),
        scenario: &m.scenario,
        scenario_hash: &m.scenario_hash,
        labels: transports.labels(),
        mismatches: transports.mismatches,
    }
}

/// Loads the results of a directory, or runs a scenario whose directory is not complete.
fn results(
    name: &str,
    args: &CompareArgs,
    with: &[String],
    out: Output,
) -> Result<CompletedExperiment, CommandError> {
    let path = Path::new(name);
    if path.is_dir() {
        if !with.is_empty() || !args.set.is_empty() || args.seeds.is_some() {
            return Err(CommandError::Usage(
                format!("`{name}` is a directory of results, whose keys cannot be set"),
                Some("name its scenario instead; finished runs are reused".to_owned()),
            ));
        }
        if !path.join(MANIFEST).exists() {
            return Err(CommandError::Usage(
                format!("`{name}` is not a run directory: it has no {MANIFEST}"),
                Some("`lowtide run` prints the directory that it writes".to_owned()),
            ));
        }
        return Ok(load(path)?);
    }
    let mut scenario = set(set(Scenario::load(name)?, &args.set)?, with)?;
    if let Some(seeds) = args.seeds {
        scenario = scenario.seeds(seeds)?;
    }
    let plan = scenario.expand()?;
    let runner = PlanRunner { jobs: args.jobs, memory: args.memory, ..PlanRunner::default() };
    out.note(&format!("{name}: {}", runner.dir(&plan).display()));
    runner
        .run_plan(&plan, &scenario.text_with_files(), out, &|options| execute(&plan, options))
        .map_err(|failure| failure.located_in(&scenario))
}

fn show(
    a: &CompletedExperiment,
    b: &CompletedExperiment,
    wanted: &CompareOptions,
    found: &Comparison,
    out: Output,
) -> Result<(), CommandError> {
    out.text(&format!("A {}\nB {}", a.dir.display(), b.dir.display()))?;
    let [of_a, of_b] = [a, b].map(CompletedExperiment::transports);
    for (side, transports) in [("A", &of_a), ("B", &of_b)] {
        print_mismatches(side, transports, out)?;
    }
    let label = |about: &MetricSubject| {
        let scheme = &about.scheme;
        let named = wanted.schemes.iter().find(|(of_a, _)| of_a == scheme);
        let of_b = of_b.label(named.map_or(scheme, |(_, of_b)| of_b));
        labels([of_a.label(scheme), of_b])
    };
    let row = |r: &ComparedMetric| {
        let about = &r.subject;
        let of = about.group.as_ref().or(about.queue.as_ref()).or(about.buffer_pool.as_ref());
        let of = of.map_or("the run", String::as_str);
        vec![
            about.class.as_ref().map_or_else(|| of.to_owned(), |class| format!("{of}, {class}")),
            about.metric.to_owned(),
            r.shown.a.value_text(),
            r.shown.b.value_text(),
            r.shown.ratio_text(),
            format!("{}{}", r.shown.verdict_text(), if r.fails { ", fails" } else { "" }),
        ]
    };
    let head = ["of", "metric", "A", "B", "B / A", "B is"];
    let place = |r: &ComparedMetric| (r.subject.scheme.clone(), r.subject.point.clone());
    for of_place in found.rows.chunk_by(|a, b| place(a) == place(b)) {
        let Some(first) = of_place.first() else { continue };
        out.text(&heading(&label(&first.subject), &first.subject.point))?;
        let rows: Vec<Vec<String>> = of_place.iter().map(row).collect();
        out.narrow_table(&head, &[2, 3, 4], &rows)?;
    }
    out.text(&format!(
        "{} pairs of runs, {} of them identical packet by packet",
        found.pairs, found.identical
    ))?;
    if found.digest_only > 0 {
        out.text(&format!(
            "{} pairs have equal digests and different results: warm-up or flow-size classes differ, or \
             another version wrote them",
            found.digest_only
        ))?;
    }
    for (side, alone) in [("A", &found.only_a), ("B", &found.only_b)] {
        print_unpaired(side, alone, out)?;
    }
    Ok(())
}

/// Returns the line above the rows of a scheme and point.
fn heading(label: &str, point: &SweepPoint) -> String {
    if point.is_empty() { label.to_owned() } else { format!("{label}, {}", point_text(point)) }
}

/// Prints the mismatches of one side.
fn print_mismatches(side: &str, transports: &Transports, out: Output) -> Result<(), CommandError> {
    transports.mismatches.iter().try_for_each(|f| out.text(&format!("{side}: note: {}", f.text)))
}

/// Label of a scheme, or all its labels if the sides ran it differently.
fn labels<'a>(of_sides: impl IntoIterator<Item = &'a str>) -> String {
    let mut all: Vec<&str> = of_sides.into_iter().collect();
    all.dedup();
    all.join(" | ")
}

/// Most unpaired runs that are named; the rest is counted.
const MAX_UNPAIRED: usize = 8;

fn print_unpaired(side: &str, alone: &[String], out: Output) -> Result<(), CommandError> {
    if alone.is_empty() {
        return Ok(());
    }
    out.text(&format!("only in {side}: {} runs", alone.len()))?;
    for name in alone.iter().take(MAX_UNPAIRED) {
        out.text(&format!("  {name}"))?;
    }
    match alone.len().checked_sub(MAX_UNPAIRED) {
        Some(more @ 1..) => out.text(&format!("  and {more} more (--json names all)")),
        _ => Ok(()),
    }
}
