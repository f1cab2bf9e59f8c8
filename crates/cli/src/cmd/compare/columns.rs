//! More than two results, or one scenario by several backends: a column each.

use std::collections::BTreeMap;
use std::path::PathBuf;

use lowtide_lab::compare::{
    CompareOptions, ComparedMetric, MetricRow, MultiComparison, compare_to_first,
};
use lowtide_lab::{Backend, CompletedExperiment, Mismatch, Transports, UnsupportedSetup, execute};
use lowtide_scenario::{RunPlan, Scenario};
use serde::Serialize;

use super::{heading, labels, print_mismatches, results};
use crate::args::{BackendArg, CompareArgs};
use crate::cmd::backend::backend;
use crate::cmd::run::PlanRunner;
use crate::cmd::set;
use crate::error::CommandError;
use crate::output::Output;

#[derive(Serialize)]
struct ColumnsOutput<'a> {
    columns: Vec<Column<'a>>,
    same_within: f64,
    #[serde(flatten)]
    found: &'a MultiComparison,
}

#[derive(Serialize)]
struct Column<'a> {
    name: &'a str,
    dir: PathBuf,
    scenario_hash: &'a str,
    labels: BTreeMap<String, String>,
    mismatches: Vec<Mismatch>,
}

pub(super) fn compare(
    args: &CompareArgs,
    wanted: &CompareOptions,
    out: Output,
) -> Result<(), CommandError> {
    let all = if args.backends.is_empty() {
        let names = std::iter::once(&args.a).chain(&args.b).chain(&args.more);
        let one = |name: &String| Ok((name.clone(), results(name, args, &[], out)?));
        names.map(one).collect::<Result<Vec<_>, CommandError>>()?
    } else {
        by_backends(args, out)?
    };
    let sides: Vec<&CompletedExperiment> = all.iter().map(|(_, finished)| finished).collect();
    let found = compare_to_first(&sides, wanted)?;
    if out.json {
        let column = |(name, f): &'_ (String, CompletedExperiment)| (name.clone(), f.dir.clone());
        let named: Vec<_> = all.iter().map(column).collect();
        let columns = named.iter().zip(&all).map(|((name, dir), (_, f))| {
            let transports = f.transports();
            Column {
                name,
                dir: dir.clone(),
                scenario_hash: &f.manifest.scenario_hash,
                labels: transports.labels(),
                mismatches: transports.mismatches,
            }
        });
        let body =
            ColumnsOutput { columns: columns.collect(), same_within: args.same, found: &found };
        return out.answer("lowtide.columns/3", &body);
    }
    show(&all, &found, out)
}

/// Runs the scenario by each backend, without the schemes that it refuses; reports those.
fn by_backends(
    args: &CompareArgs,
    out: Output,
) -> Result<Vec<(String, CompletedExperiment)>, CommandError> {
    let mut scenario = set(Scenario::load(&args.a)?, &args.set)?;
    if let Some(seeds) = args.seeds {
        scenario = scenario.seeds(seeds)?;
    }
    let mut all = Vec::new();
    for which in &args.backends {
        let real = match which {
            BackendArg::Sim => crate::args::RealArgs::default(),
            BackendArg::Live => {
                let own = args.real.clone();
                crate::args::RealArgs { our_hosts: Vec::new(), bottleneck: None, ..own }
            }
            BackendArg::Kernel => {
                crate::args::RealArgs { kernel_hosts: Vec::new(), ..args.real.clone() }
            }
        };
        let backend = backend(*which, &real)?;
        let (plan, source) = without_refused_schemes(&scenario, backend.as_deref(), out)?;
        let runner = PlanRunner {
            jobs: args.jobs,
            backend: backend.as_deref(),
            memory: args.memory,
            ..PlanRunner::default()
        };
        let name = name(*which);
        out.note(&format!("{name}: {}", runner.dir(&plan).display()));
        let finished =
            runner.run_plan(&plan, source.text(), out, &|options| execute(&plan, options))?;
        all.push((name.to_owned(), finished));
    }
    Ok(all)
}

const fn name(of: BackendArg) -> &'static str {
    match of {
        BackendArg::Sim => "sim",
        BackendArg::Live => "live",
        BackendArg::Kernel => "kernel",
    }
}

/// Plans the runs of `scenario` without the schemes that `backend` refuses.
fn without_refused_schemes(
    scenario: &Scenario,
    backend: Option<&dyn Backend>,
    out: Output,
) -> Result<(RunPlan, Scenario), CommandError> {
    let plan = scenario.clone().expand()?;
    let Some(backend) = backend else { return Ok((plan, scenario.clone())) };
    let mut refused: Vec<(String, UnsupportedSetup)> = Vec::new();
    for run in &plan.runs {
        if refused.iter().all(|(scheme, _)| *scheme != run.scheme)
            && let Err(refusal) = backend.check(&run.setup()?)
        {
            refused.push((run.scheme.clone(), refusal));
        }
    }
    let Some((_, first)) = refused.first() else { return Ok((plan, scenario.clone())) };
    let left: Vec<String> = plan
        .schemes
        .iter()
        .filter(|s| refused.iter().all(|(scheme, _)| scheme != *s))
        .map(|s| format!("{s:?}"))
        .collect();
    if left.is_empty() {
        return Err(CommandError::Usage(first.message.clone(), first.help.clone()));
    }
    for (scheme, UnsupportedSetup { message, .. }) in &refused {
        out.note(&format!("{}: without `{scheme}`: {message}", backend.entry().name));
    }
    let fewer =
        scenario.clone().with_override("compare.schemes", &format!("[{}]", left.join(",")))?;
    Ok((fewer.clone().expand()?, fewer))
}

fn show(
    all: &[(String, CompletedExperiment)],
    found: &MultiComparison,
    out: Output,
) -> Result<(), CommandError> {
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let transports: Vec<Transports> = all.iter().map(|(_, f)| f.transports()).collect();
    for ((name, finished), transports) in all.iter().zip(&transports) {
        out.text(&format!("{name}: {}", finished.dir.display()))?;
        print_mismatches(name, transports, out)?;
    }
    let mut head = vec!["of", "metric"];
    head.extend(&names);
    let right: Vec<usize> = (2..head.len()).collect();
    let place = |line: &MetricRow| (line.subject.scheme.clone(), line.subject.point.clone());
    for of_place in found.lines.chunk_by(|a, b| place(a) == place(b)) {
        let Some(first) = of_place.first() else { continue };
        let label = labels(transports.iter().map(|t| t.label(&first.subject.scheme)));
        out.text(&heading(&label, &first.subject.point))?;
        let rows: Vec<Vec<String>> = of_place.iter().map(row).collect();
        out.narrow_table(&head, &right, &rows)?;
    }
    out.paragraph(&format!(
        "After `;`: ratio to `{}` with its 95 % interval; `*`: the verdict is better, worse or \
         differs.",
        names.first().copied().unwrap_or_default()
    ))?;
    for cause in &found.causes {
        let column = names.get(cause.column).copied().unwrap_or_default();
        out.text(&format!("{column}, {}: {}", cause.scheme, cause.text))?;
    }
    Ok(())
}

fn row(line: &MetricRow) -> Vec<String> {
    let about = &line.subject;
    let of = about.group.as_ref().or(about.queue.as_ref()).or(about.buffer_pool.as_ref());
    let mut cells = vec![
        of.map_or("the run", String::as_str).to_owned(),
        about.metric.to_owned(),
        line.first.value_text(),
    ];
    cells.extend(line.others.iter().map(|o| o.as_ref().map_or_else(|| "–".to_owned(), other)));
    cells
}

fn other(row: &ComparedMetric) -> String {
    let star = if row.shown.differs() { "*" } else { "" };
    format!("{}; {}{star}", row.shown.b.value_text(), row.shown.ratio_text())
}
