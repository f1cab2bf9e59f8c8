//! `lowtide papers reproduce PAPER --infer`: the settings that a paper leaves open.

use std::path::Path;
use std::time::{Duration, Instant};

use lowtide_papers::PaperError;
use lowtide_papers::infer::{
    ClaimSide, InferenceOptions, InferenceRecord, InferenceResult, InferenceSize, InferenceSubject,
    ScoredSettings, best_case_text, cross_validation_text, infer, share_text,
};

use crate::args::{InferArgs, ReproduceArgs};
use crate::cmd::run::{command, processors};
use crate::error::CommandError;
use crate::interrupt::{STOP, watch_for_interrupt};
use crate::machine;
use crate::output::Output;
use crate::progress::ProgressReporter;

/// Infers the open settings of the papers that `args` names; of all that have some, without names.
pub(crate) fn run(args: &ReproduceArgs, out: Output) -> Result<(), CommandError> {
    let size = args.infer.size(args.decide);
    let (index, of) = args.infer.part();
    if index >= of {
        let help = format!("processes are numbered from 0 to {}", of - 1);
        return Err(CommandError::Usage(
            format!("there is no process {index} of {of}"),
            Some(help),
        ));
    }
    let known = lowtide_papers::papers_with_open_settings();
    let is_paper =
        |row: &String| row == "all" || known.contains(&row.as_str()) || Path::new(row).is_dir();
    if let Some(unknown) = args.rows.iter().find(|row| !is_paper(row)) {
        let help = format!(
            "`--infer` takes papers ({}) and folders of own experiments with `open.toml`",
            known.join(", ")
        );
        return Err(CommandError::Usage(format!("`{unknown}` is not a paper"), Some(help)));
    }
    let all = args.rows.is_empty() || args.rows.iter().any(|row| row == "all");
    let named: Vec<&str> =
        if all { known.clone() } else { args.rows.iter().map(String::as_str).collect() };
    // Everything is checked before anything runs.
    let subjects = named.into_iter().map(|name| {
        if known.contains(&name) {
            InferenceSubject::new(name)
        } else {
            InferenceSubject::load(Path::new(name))
        }
    });
    let subjects: Vec<InferenceSubject> =
        subjects.collect::<Result<_, PaperError>>().map_err(CommandError::from)?;
    watch_for_interrupt()?;
    let mut results = Vec::new();
    for subject in &subjects {
        let result = one(args, subject, size, out)?;
        if !out.json {
            show(&result, out)?;
        }
        results.push(result);
    }
    if out.json { out.json(&results) } else { Ok(()) }
}

fn one(
    args: &ReproduceArgs,
    subject: &InferenceSubject,
    size: InferenceSize,
    out: Output,
) -> Result<InferenceResult, CommandError> {
    let root = args.out.clone().unwrap_or_else(|| Path::new("runs").join("inference"));
    let dir = root.join(&subject.paper);
    let (fitted, held_back) = subject.claim_counts();
    out.note(&format!(
        "{}: {} open parameters, {fitted} fitted claims, {held_back} held back, {} not measured; \
         up to {} evaluations of {} million packet-hops",
        subject.paper,
        subject.open.parameters.len(),
        subject.unmeasured.len(),
        size.evaluations(subject),
        subject.hops().map_err(CommandError::from)? / 1_000_000,
    ));
    #[expect(clippy::disallowed_methods, reason = "wall time is reported, nothing depends on it")]
    let start = Instant::now();
    let limits = args.memory.limits();
    let bar = ProgressReporter::new(out, 1, &subject.paper);
    let options = InferenceOptions {
        dir: dir.clone(),
        jobs: args.jobs.map_or_else(processors, |n| n as usize),
        part: args.infer.part(),
        stop: &STOP,
        clock: &|| -> Duration { start.elapsed() },
        limits,
        worker: &machine::worker(),
        progress: &|phase, done, total| bar.phase(phase, done, total),
    };
    let result = infer(subject, size, &command(), &options);
    bar.clear();
    let (result, page) = result.map_err(CommandError::from)?;
    if !out.json {
        out.text(&format!("{}\n  {}", subject.paper, page.display()))?;
    }
    Ok(result)
}

fn show(result: &InferenceResult, out: Output) -> Result<(), CommandError> {
    let record = InferenceRecord::from(result);
    out.text(&record.answer())?;
    let parameters = result.parameters.iter().zip(&record.parameter).map(|(p, recorded)| {
        let [index, chance] = recorded.influence_texts(result.parameters.len());
        let influence = if index.is_empty() { index } else { format!("{index} (p {chance})") };
        let bound = if p.at_bound { " (at a bound)" } else { "" };
        let inferred = format!("{}{bound}", recorded.inferred_text());
        vec![
            p.name.clone(),
            p.default.clone(),
            inferred,
            recorded.consistent.clone(),
            p.values.clone(),
            influence,
        ]
    });
    out.table(
        &["parameter", "default", "inferred", "consistent", "prior", "influence"],
        &[5],
        &parameters.collect::<Vec<_>>(),
    )?;
    let of = |of, one: &lowtide_papers::infer::InferenceScore| {
        let same = |s: &&lowtide_papers::infer::InferenceScore| s.of == of && s.is_like(one);
        result.scores.iter().find(same).map_or_else(String::new, share_text)
    };
    let defaults = result.scores.iter().filter(|s| s.of == ScoredSettings::Defaults);
    let rows = defaults.map(|s| {
        vec![
            s.side.name().to_owned(),
            s.kind_name().to_owned(),
            s.claims.to_string(),
            of(ScoredSettings::Defaults, s),
            of(ScoredSettings::Inferred, s),
            of(ScoredSettings::Finalists, s),
            of(ScoredSettings::Draws, s),
            of(ScoredSettings::DefaultsDecided, s),
            of(ScoredSettings::InferredDecided, s),
        ]
    });
    out.table(
        &[
            "claims",
            "kind",
            "number",
            "defaults",
            "inferred",
            "finalists",
            "draws",
            "defaults, more seeds",
            "inferred, more seeds",
        ],
        &[2],
        &rows.collect::<Vec<_>>(),
    )?;
    out.text(&cross_validation_text(result.cross_validation))?;
    let held_back = result.claims.iter().filter(|c| c.side == ClaimSide::HeldBack);
    let never_held_back = held_back.filter(|c| result.never_in_band.contains(&c.id)).count();
    let most = best_case_text(&result.best_case);
    let end = if most.is_empty() { "" } else { " " };
    out.text(&format!(
        "{most}{end}{} claims ({} held back) are outside their bands in every evaluation; {} \
         pairs exclude each other",
        result.never_in_band.len(),
        never_held_back,
        result.contradictions.len()
    ))
}

impl InferArgs {
    /// `decide`: most seeds of an undecided claim.
    fn size(&self, decide: Option<u64>) -> InferenceSize {
        let default = InferenceSize::default();
        let draws = self.draws.map_or(default.draws, |n| n as usize);
        InferenceSize { draws, decide: decide.unwrap_or(default.decide), ..default }
    }

    /// Number of this process, and of all.
    fn part(&self) -> (usize, usize) {
        (self.index.unwrap_or(0) as usize, self.of.unwrap_or(1) as usize)
    }
}
