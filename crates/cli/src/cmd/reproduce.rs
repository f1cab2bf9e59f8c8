//! `lowtide papers reproduce`: the papers' experiments, and verdicts on their claims.

use std::path::{Path, PathBuf};
use std::time::Instant;

use lowtide_lab::{ExecuteOptions, execute};
use lowtide_papers::{
    self as claims, ClaimResult, ClaimVerdict, Experiment, ExperimentClaims, ReproduceMode,
    ReproductionResult, VariedClaim, VarySpec,
};
use lowtide_scenario::{HOPS_PER_SECOND, RunPlan};
use serde::Serialize;

use crate::args::ReproduceArgs;
use crate::catalogue::nearest_names;
use crate::cmd::run::{PlanRunner, command, processors};
use crate::error::CommandError;
use crate::output::Output;

#[derive(Serialize)]
struct ReproduceOutput<'a> {
    quick: bool,
    claims: &'a [&'a ClaimResult],
    varied: &'a [&'a VariedClaim],
}

/// A requested experiment and its runs.
struct Job {
    row: Experiment,
    plan: RunPlan,
    dir: PathBuf,
    /// Variations of it.
    vary: Vec<(VarySpec, RunPlan)>,
    /// Estimated packet-hops.
    cost: u64,
}

pub(crate) fn reproduce(args: &ReproduceArgs, out: Output) -> Result<(), CommandError> {
    let mode = ReproduceMode { quick: args.quick, seeds: args.seeds, further_look: None };
    let root = args.out.clone().unwrap_or_else(|| Path::new("runs").join("papers"));
    // Everything is checked before anything runs.
    let jobs = rows(&args.rows)?.into_iter().map(|row| job(row, mode, args.vary, &root));
    let jobs: Vec<Job> = jobs.collect::<Result<_, CommandError>>()?;
    let mut ahead = TimeEstimate::new(&jobs, args.jobs);
    let mut done: Vec<(Experiment, PathBuf, ReproductionResult)> = Vec::new();
    let ran = jobs.iter().try_for_each(|job| -> Result<(), CommandError> {
        let label = ahead.begin(job);
        let work = |options: &ExecuteOptions<'_>| execute(&job.plan, options);
        let finished = plan_runner(args, &job.dir).run_labelled(
            &job.plan,
            job.row.scenario,
            out,
            &label,
            &work,
        )?;
        let mut outcome = claims::judge(&job.row, &job.dir, mode).map_err(CommandError::from)?;
        if let Some(budget) = args.decide {
            look_further(args, job, (mode, budget), &mut outcome, (&label, out))?;
        }
        if !out.json {
            show(&job.row, &outcome.claims, &job.dir, out)?;
            for mismatch in finished.transports().mismatches {
                out.text(&format!("note: {}", mismatch.text))?;
            }
        }
        for (vary, plan) in &job.vary {
            let dir = experiment_dir(&root, &job.row, plan);
            let work = |options: &ExecuteOptions<'_>| execute(plan, options);
            plan_runner(args, &dir).run_labelled(plan, job.row.scenario, out, &label, &work)?;
            let found = claims::judge_variation(&job.row, vary.clone(), &dir)
                .map_err(CommandError::from)?;
            if !out.json {
                show_varied(vary, &found.varied, out)?;
            }
            outcome.variations.push(found);
        }
        ahead.end(job);
        done.push((job.row, job.dir.clone(), outcome));
        Ok(())
    });
    // After an interruption the page has the finished experiments.
    if !done.is_empty() {
        claims::write_page(&root, &done, args.quick, &command()).map_err(CommandError::from)?;
    }
    ran?;
    let all: Vec<&ClaimResult> = done.iter().flat_map(|(_, _, o)| &o.claims).collect();
    if out.json {
        let variations = done.iter().flat_map(|(_, _, o)| &o.variations);
        let varied: Vec<&VariedClaim> = variations.flat_map(|v| &v.varied).collect();
        let body = ReproduceOutput { quick: args.quick, claims: &all, varied: &varied };
        out.answer("lowtide.reproduce/3", &body)?;
    } else {
        total(&all, &root.join(claims::REPRODUCTION_PAGE), out)?;
    }
    check_regressions(&all, &done)
}

/// Runs more seeds while a claim is undecided for want of seeds, up to `budget`.
fn look_further(
    args: &ReproduceArgs,
    job: &Job,
    (mode, budget): (ReproduceMode, u64),
    outcome: &mut ReproductionResult,
    (label, out): (&str, Output),
) -> Result<(), CommandError> {
    let seeds =
        (job.plan.runs.len() / (job.plan.schemes.len() * job.plan.points.len()).max(1)) as u64;
    for look in claims::further_looks(mode, seeds, budget) {
        if !claims::needs_further_look(&outcome.claims) {
            break;
        }
        let plan = claims::plan(&job.row, look).map_err(CommandError::from)?;
        let work = |options: &ExecuteOptions<'_>| execute(&plan, options);
        let runner = PlanRunner { discard_existing: false, ..plan_runner(args, &job.dir) };
        runner.run_labelled(&plan, job.row.scenario, out, label, &work)?;
        let found = claims::judge(&job.row, &job.dir, look).map_err(CommandError::from)?;
        outcome.hops = found.hops;
        claims::merge_further_look(&mut outcome.claims, found.claims);
    }
    Ok(())
}

fn plan_runner<'a>(args: &ReproduceArgs, dir: &'a Path) -> PlanRunner<'a> {
    PlanRunner {
        out: Some(dir),
        jobs: args.jobs,
        discard_existing: args.afresh,
        memory: args.memory,
        ..PlanRunner::default()
    }
}

fn job(row: Experiment, mode: ReproduceMode, vary: bool, root: &Path) -> Result<Job, CommandError> {
    let plan = claims::plan(&row, mode).map_err(CommandError::from)?;
    let dir = experiment_dir(root, &row, &plan);
    let vary =
        if vary { claims::variation_plans(&row).map_err(CommandError::from)? } else { Vec::new() };
    let plans = std::iter::once(&plan).chain(vary.iter().map(|(_, plan)| plan));
    let cost = plans.map(|plan| plan.estimate().hops).sum();
    Ok(Job { row, plan, dir, vary, cost })
}

/// Prints the number of claims by verdict. A calibrated claim is no test, so it is not counted.
fn total(all: &[&ClaimResult], page: &Path, out: Output) -> Result<(), CommandError> {
    let counting = || all.iter().filter(|c| !c.calibrated);
    let counts = ClaimVerdict::ALL
        .map(|v| format!("{} {}", counting().filter(|c| c.verdict == v).count(), v.name()));
    let calibrated = all.len() - counting().count();
    let not_counted = match calibrated {
        0 => String::new(),
        n => format!("; {n} fitted, not counted"),
    };
    let (n, counts) = (counting().count(), counts.join(", "));
    out.text(&format!("{n} claims: {counts}{not_counted}\npage {}", page.display()))
}

/// Fails if a claim recorded as reproduced no longer is, or a reduced form exceeds its hop budget.
fn check_regressions(
    all: &[&ClaimResult],
    done: &[(Experiment, PathBuf, ReproductionResult)],
) -> Result<(), CommandError> {
    let regressed = all.iter().filter(|c| c.regressed).map(|c| {
        let (id, verdict) = (&c.id, c.verdict.name());
        format!("{id} is recorded as reproduced but is now {verdict}")
    });
    let over = done.iter().filter_map(|(row, _, outcome)| {
        let budget = outcome.hop_budget.filter(|b| outcome.hops > *b)?;
        let (id, hops) = (row.id(), outcome.hops);
        Some(format!("the reduced form of {id} took {hops} packet-hops; its budget is {budget}"))
    });
    let short: Vec<String> = regressed.chain(over).collect();
    if short.is_empty() { Ok(()) } else { Err(CommandError::Unmet(short.join("\n"))) }
}

/// Estimate of the time left, from the measured speed, or from a guess before the first run.
struct TimeEstimate {
    started: Instant,
    count: usize,
    finished: usize,
    remaining_hops: u64,
    /// Guess of the packet-hops per second.
    speed: u64,
    /// Packet-hops run so far, and their time in seconds, without reused results.
    completed: (u64, f64),
}

impl TimeEstimate {
    fn new(jobs: &[Job], threads: Option<u32>) -> Self {
        let threads = threads.map_or_else(processors, |n| n as usize) as u64;
        let left = jobs.iter().map(|j| j.cost).sum();
        let speed = (HOPS_PER_SECOND * threads).max(1);
        Self {
            started: now(),
            count: jobs.len(),
            finished: 0,
            remaining_hops: left,
            speed,
            completed: (0, 0.0),
        }
    }

    /// Begins a job. Returns the label of its progress bar.
    fn begin(&mut self, job: &Job) -> String {
        self.started = now();
        let seconds = match self.completed {
            (0, _) => self.remaining_hops as f64 / self.speed as f64,
            (hops, seconds) => self.remaining_hops as f64 / hops as f64 * seconds,
        };
        let (nth, count) = (self.finished + 1, self.count);
        let minutes = (seconds / 60.0).ceil();
        format!("{} ({nth} of {count}, about {minutes} min left)", job.row.id())
    }

    fn end(&mut self, job: &Job) {
        self.finished += 1;
        self.remaining_hops = self.remaining_hops.saturating_sub(job.cost);
        let seconds = self.started.elapsed().as_secs_f64();
        // A job a hundred times as fast as guessed reused its results.
        if seconds * 100.0 > job.cost as f64 / self.speed as f64 {
            self.completed = (self.completed.0 + job.cost, self.completed.1 + seconds);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "wall time is reported, nothing depends on it")]
fn now() -> Instant {
    Instant::now()
}

/// Finds the named experiments; without names, all.
fn rows(names: &[String]) -> Result<Vec<Experiment>, CommandError> {
    if names.is_empty() {
        return Ok(claims::experiments());
    }
    let mut rows: Vec<Experiment> = Vec::new();
    for name in names {
        let path = Path::new(name);
        let own = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("toml"));
        let found = if own {
            {
                let own = claims::load_experiment(path);
                vec![own.map_err(|e| CommandError::Usage(e.to_string(), None))?]
            }
        } else {
            claims::find_experiments(name)
        };
        if found.is_empty() {
            let known: Vec<String> = claims::experiments().iter().map(Experiment::id).collect();
            let near = nearest_names(&name.replacen('/', "-", 1), &known);
            let near: Vec<String> = near.iter().map(|n| format!("`{n}`")).collect();
            let near = if near.is_empty() {
                String::new()
            } else {
                format!("the nearest are {}; ", near.join(", "))
            };
            let help = format!("{near}`lowtide papers list` shows all");
            return Err(CommandError::Usage(
                format!("there is no experiment `{name}`"),
                Some(help),
            ));
        }
        for row in found {
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

/// `runs/papers/<experiment>/<hash>`, with `-o` below that directory.
fn experiment_dir(root: &Path, row: &Experiment, plan: &RunPlan) -> PathBuf {
    root.join(row.id()).join(plan.hash.get(..8).unwrap_or(&plan.hash))
}

fn show(
    row: &Experiment,
    claims: &[ClaimResult],
    dir: &Path,
    out: Output,
) -> Result<(), CommandError> {
    let title =
        ExperimentClaims::parse(row.expected, &row.id()).map(|e| e.title).unwrap_or_default();
    out.text(&format!("{}: {title}\n  {}", row.id(), dir.join("report.html").display()))?;
    for claim in claims {
        let name = claim.id.split_once('/').map_or(claim.id.as_str(), |(_, name)| name);
        let unit = if claim.unit.is_empty() { String::new() } else { format!(" {}", claim.unit) };
        out.text(&format!(
            "  {:<15} {name}: {}\n{:18}paper {}{unit}, measured {}, holds {}; {}",
            claim.verdict.name(),
            claim.says,
            "",
            claim.reported.map_or_else(|| "an order".to_owned(), four_digits),
            measured(claim, &unit),
            claim.band_text(),
            claim.source,
        ))?;
        if let Some(recorded) = claim.recorded.filter(|r| *r != claim.verdict) {
            out.text(&format!("{:18}recorded: {}", "", recorded.name()))?;
        }
        if claim.calibrated {
            out.text(&format!("{:18}fitted: not counted", ""))?;
        }
        if let Some(reason) = &claim.reason {
            out.text(&format!("{:18}{reason}", ""))?;
        }
    }
    Ok(())
}

fn show_varied(vary: &VarySpec, varied: &[VariedClaim], out: Output) -> Result<(), CommandError> {
    out.text(&format!("  varied: {}\n{:18}{}", vary.says, "", vary.key))?;
    for VariedClaim { value, claim, .. } in varied {
        let name = claim.id.split_once('/').map_or(claim.id.as_str(), |(_, name)| name);
        let unit = if claim.unit.is_empty() { String::new() } else { format!(" {}", claim.unit) };
        out.text(&format!("{:18}{value}: {name} {}", "", measured(claim, &unit)))?;
    }
    Ok(())
}

fn measured(claim: &ClaimResult, unit: &str) -> String {
    match (claim.measured, claim.ci95) {
        (None, _) => "nothing".to_owned(),
        (Some(m), None) => format!("{}{unit}", four_digits(m)),
        (Some(m), Some([low, high])) => {
            format!("{} ({} to {}){unit}", four_digits(m), four_digits(low), four_digits(high))
        }
    }
}

/// Formats with four significant digits, more than any figure resolves.
fn four_digits(value: f64) -> String {
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
            assert_eq!(four_digits(value), text);
        }
    }

    #[test]
    fn an_unknown_experiment_names_the_nearest() {
        let Err(CommandError::Usage(message, help)) = rows(&["dctcp-fig01".to_owned()]) else {
            panic!("it was found");
        };
        assert!(message.contains("dctcp-fig01"));
        assert!(help.is_some_and(|h| h.contains("`dctcp-fig1`")));
        let Err(CommandError::Usage(_, help)) = rows(&["something-quite-different".to_owned()])
        else {
            panic!("it was found");
        };
        assert_eq!(help.as_deref(), Some("`lowtide papers list` shows all"));
    }
}
