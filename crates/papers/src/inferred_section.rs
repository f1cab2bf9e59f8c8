//! The result of an inference, on the page of its paper and in the scorecard.

use std::fmt::Write as _;

use lowtide_charts::number;

use super::full_form_section::full_form_section;
use super::infer::{
    ClaimSide, InferenceRecord, InferenceSubject, OpenParameter, OpenSettings, RecordedOutcome,
    cross_validation_text,
};
use super::paper_page::PAGES;
use super::{ClaimError, ClaimKind};
use crate::catalogue::paper_file;
use crate::error::PaperError;

/// Columns of scores.
const COLUMNS: &str = "\
    | claims | defaults | inferred | finalists | draws | defaults, more seeds | inferred, more seeds |
|---|---|---|---|---|---|---|---|
";

/// Why the inferred setting can lie outside of the ranges beside it.
const NOT_CONSISTENT: &str = " The inferred setting is not one of them: it is the finalist that \
    reproduces most fitted claims with five seeds, and they are chosen by the loss with three.";

/// Contradictions on the page.
const PAIRS: usize = 10;

/// The section of a paper: what it leaves open, and with a recorded inference what must have been
/// true, what then holds, and what cannot hold. Empty without `open.toml`.
pub(super) fn inferred_section(paper: &str) -> Result<String, ClaimError> {
    let file = format!("papers/{paper}/open.toml");
    let Some(text) = paper_file(paper, "open.toml") else { return Ok(String::new()) };
    let open = OpenSettings::parse(text, &file)?;
    let record = InferenceRecord::of_paper(paper)?;
    let fail = |e: PaperError| ClaimError { file: file.clone(), message: e.to_string() };
    let subject = InferenceSubject::new(paper).map_err(fail)?;
    let mut out = "\n## Parameters that the paper leaves open\n\
                   | parameter | the paper | default | prior |\n|---|---|---|---|\n"
        .to_owned();
    for p in &open.parameters {
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "| {} (`{}`) | \"{}\" ({}): {} | {} | {}: {} |",
            p.says,
            p.name,
            one_line(&p.quote),
            one_line(&p.source),
            one_line(&p.why),
            subject.default_of(p).map_err(fail)?,
            p.values_text(),
            one_line(&p.prior),
        );
    }
    match record {
        Some(record) => {
            out.push_str(&found(&subject, &open, &record));
            out.push_str(&full_form_section(paper, &record)?);
        }
        None => {
            let _ = write!(
                out,
                "\nNo inference is recorded yet. `lowtide papers reproduce {paper} --infer` makes \
                 one.\n"
            );
        }
    }
    Ok(out)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn found(subject: &InferenceSubject, open: &OpenSettings, record: &InferenceRecord) -> String {
    let paper = &subject.paper;
    let s = record.settings;
    let mut out = format!(
        "\n## Inferred settings\n\
         {}\n\n\
         `lowtide papers reproduce {paper} --infer --draws {} --decide {}` evaluated {} settings in \
         the reduced form. Of the best 25 % by loss, {} are consistent with the fitted claims: \
         their loss exceeds the least by no more than one standard error of the difference over figures. They are \
         settings that were tried, so a narrow range is no confidence interval.{} Influence is the \
         part of the variance of the loss that a parameter explains alone (omega squared among \
         the draws), with the p value of an F test times the number of parameters.\n\n\
         | parameter | inferred | consistent settings ({}) | influence |\n|---|---|---|---|\n",
        record.answer(),
        s.draws,
        s.decide,
        s.screened,
        s.consistent,
        if record.inferred_is_consistent { "" } else { NOT_CONSISTENT },
        s.consistent
    );
    let parameters = record.parameter.len();
    for p in &record.parameter {
        let [index, chance] = p.influence_texts(parameters);
        let influence = if index.is_empty() { index } else { format!("{index} (p: {chance})") };
        let at_bound = |of: &&OpenParameter| of.name == p.name && of.is_at_bound(&p.inferred);
        let note =
            if open.parameters.iter().any(|of| at_bound(&of)) { " (at a bound)" } else { "" };
        let inferred = format!("{}{note}", p.inferred_text());
        let _ = writeln!(out, "| `{}` | {} | {} | {influence} |", p.name, inferred, p.consistent);
    }
    out.push_str(&held_back(subject, record));
    out.push_str(&cannot_hold(record));
    out
}

fn of_held_back(record: &InferenceRecord) -> impl Iterator<Item = &RecordedOutcome> {
    record.claim.iter().filter(|c| c.side == ClaimSide::HeldBack)
}

fn held_back(subject: &InferenceSubject, record: &InferenceRecord) -> String {
    let held = of_held_back(record).count();
    let fitted = record.claim.len() - held;
    let seen = of_held_back(record).filter(|c| c.varied_before).count();
    let mut out = format!(
        "\n## Claims held back\n\
         {fitted} claims were used for fitting, {held} held back. {seen} of those held back were \
         varied before the split, so their response was known; the verdicts with the defaults were known \
         for all. The split is by figure of the paper. One simulation can serve figures on both \
         sides, so the claims held back are no independent test.{}\n\n\
         {}\n\n\
         With more seeds: claims that five seeds leave undecided are judged again with up to {} \
         seeds, so these numbers can only grow.\n\n\
         | held back {COLUMNS}",
        record.correlation_text().map_or_else(String::new, |r| format!(
            " Among the draws, the losses of both sides have the rank correlation {r}."
        )),
        cross_validation_text(record.cross_validation),
        record.settings.decide
    );
    let kind = |c: &RecordedOutcome| subject.kind_of(&c.id);
    out.push_str(&score_line("all", record, |_| true));
    out.push_str(&score_line("not varied before", record, |c| !c.varied_before));
    for of in ClaimKind::ALL {
        if of_held_back(record).any(|c| kind(c) == Some(of)) {
            out.push_str(&score_line(of.name(), record, |c| kind(c) == Some(of)));
        }
    }
    for (title, at_inferred) in [
        ("Reproduced only at the inferred setting", true),
        ("Reproduced only at the defaults", false),
    ] {
        let ids: Vec<String> = of_held_back(record)
            .filter(|c| c.holds_only_at() == Some(at_inferred))
            .map(|c| format!("`{}`", c.id))
            .collect();
        if !ids.is_empty() {
            let _ = write!(out, "\n{title}: {}.\n", ids.join(", "));
        }
    }
    out
}

fn cannot_hold(record: &InferenceRecord) -> String {
    let code = |id: &String| format!("`{id}`");
    let mut out = format!(
        "\n## Claims that do not hold together\n\
         Best case: claims held back that are in their bands, with one seed, at the one of {} \
         settings that has most of the kind there. The setting is chosen with knowledge of these \
         claims, so the number is optimistic. It is no bound on verdicts, which have other seeds \
         and need the whole interval in the band.\n\n\
         | held back | claims | best case | in band at some setting |\n|---|---|---|---|\n",
        record.settings.screened
    );
    for m in &record.best_case {
        let _ =
            writeln!(out, "| {} | {} | {} | {} |", m.kind_name(), m.claims, m.jointly, m.somewhere);
    }
    out.push('\n');
    for (side, name) in [(ClaimSide::HeldBack, "held back"), (ClaimSide::Fitted, "fitted")] {
        let is_of = |id: &&String| record.claim.iter().any(|c| c.id == **id && c.side == side);
        let never: Vec<String> = record.never_in_band.iter().filter(is_of).map(code).collect();
        let _ = if never.is_empty() {
            writeln!(out, "- Each {name} claim is in its band in at least one evaluation.")
        } else {
            let list = never.join(", ");
            writeln!(out, "- Outside their bands in every evaluation, {name}: {list}.")
        };
    }
    let pairs: Vec<String> = record
        .contradictions
        .iter()
        .take(PAIRS)
        .map(|[a, b]| format!("{} and {}", code(a), code(b)))
        .collect();
    if !pairs.is_empty() {
        let more = record.contradictions.len().saturating_sub(PAIRS);
        let more = if more > 0 { format!("; and {more} more pairs") } else { String::new() };
        let _ = write!(
            out,
            "- Pairs that hold in many draws each and in no evaluation jointly: {}{more}.",
            pairs.join("; ")
        );
        out.push('\n');
    }
    out
}

/// A table row: claims held back for which `is_of` is true, and those reproduced.
fn score_line(
    name: &str,
    record: &InferenceRecord,
    is_of: impl Fn(&RecordedOutcome) -> bool,
) -> String {
    let of = record.reproduced(ClaimSide::HeldBack, is_of);
    let percent = |n: f64| {
        format!("{} ({:.0} %)", number((n * 10.0).round() / 10.0), 100.0 * n / of.claims.max(1.0))
    };
    format!(
        "| {name} | {} | {} | {} | {} | {} | {} | {} |\n",
        of.claims,
        percent(of.defaults),
        percent(of.inferred),
        percent(of.finalists),
        percent(of.draws),
        percent(of.defaults_decided),
        percent(of.inferred_decided)
    )
}

/// The scores of all papers on the claims held back.
pub(super) fn inferred_scores() -> Result<String, ClaimError> {
    let mut rows = String::new();
    let mut papers: Vec<&str> = Vec::new();
    for page in &PAGES {
        if !papers.contains(&page.folder) {
            papers.push(page.folder);
            if let Some(record) = InferenceRecord::of_paper(page.folder)? {
                let link = format!("[{}](papers/{})", page.name, page.file);
                rows.push_str(&score_line(&link, &record, |_| true));
            }
        }
    }
    if rows.is_empty() {
        return Ok(rows);
    }
    Ok(format!(
        "\n## Claims held back, with inferred settings\n\
         The settings that a paper leaves open are inferred from a part of its claims; these are \
         the others, in the reduced form with five seeds not used for selection. The verdicts above \
         are those of the defaults in the full form. Finalists: mean of the eight settings that \
         were compared last, the defaults among them. Draws: mean of eight draws of the prior. With \
         more seeds: claims that five seeds leave undecided have more, so these numbers can \
         only grow.\n\n\
         | paper {COLUMNS}{rows}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"
        program = "0123"
        correlation = 0.5
        inferred-is-consistent = false
        never-in-band = ["td-fig7/c"]
        contradictions = [["td-fig7/a", "td-fig7/b"]]
        [[best-case]]
        side = "held-back"
        kind = "ratio"
        claims = 2
        jointly = 1
        somewhere = 2
        [settings]
        draws = 8
        screened = 13
        confirmed = 5
        consistent = 2
        finalists = 2
        decide = 20
        [[parameter]]
        name = "gain"
        inferred = "4"
        consistent = "2 to 5"
        influence = [0.5, 0.01]
        [[claim]]
        id = "td-fig7/a"
        side = "held-back"
        defaults = "not-reproduced"
        inferred = "reproduced"
        finalists = 0.5
        draws = 0.25
        [[claim]]
        id = "td-fig7/b"
        side = "held-back"
        varied-before = true
        defaults = "undecided"
        defaults-decided = "reproduced"
        inferred = "not-reproduced"
        finalists = 0.5
        draws = 0.25
        [[claim]]
        id = "td-fig7/c"
        side = "fitted"
        defaults = "not-reproduced"
        inferred = "not-reproduced"
        finalists = 0.0
        draws = 0.0
    "#;

    #[test]
    fn a_record_becomes_a_section() {
        let open = OpenSettings::parse(paper_file("td", "open.toml").unwrap(), "x").unwrap();
        let subject = InferenceSubject::new("td").unwrap();
        let text = found(&subject, &open, &toml::from_str(RECORD).unwrap());
        for part in [
            "--draws 8 --decide 20` evaluated 13 settings in the reduced",
            "| `gain` | 4 | 2 to 5 | 0.50 (p: 0.010) |",
            "1 claims were used for fitting, 2 held back. 1 of those held back were",
            "the rank correlation 0.50 (95 % interval",
            "| all | 2 | 0 (0 %) | 1 (50 %) | 1 (50 %) | 0.5 (25 %) | 1 (50 %) | 1 (50 %) |",
            "| not varied before | 1 | 0 (0 %) | 1 (100 %) | 0.5 (50 %) | 0.3 (25 %) | 0 (0 %) | 1 (100 %) |",
            "Reproduced only at the inferred setting: `td-fig7/a`.",
            "The inferred setting is not one of them",
            "Reproduced only at the defaults: `td-fig7/b`.",
            "at the one of 13 settings",
            "| ratio | 2 | 1 | 2 |",
            "Outside their bands in every evaluation, fitted: `td-fig7/c`.",
            "in no evaluation jointly: `td-fig7/a` and `td-fig7/b`.",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }
}
