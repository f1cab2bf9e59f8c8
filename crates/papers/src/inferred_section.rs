//! The result of an inference, on the page of its paper and in the scorecard.

use std::fmt::Write as _;

use super::infer::{
    ClaimSide, InferenceRecord, InferenceSubject, OpenParameter, OpenSettings, RecordedOutcome,
    probability,
};
use super::paper_page::PAGES;
use super::{ClaimError, ClaimVerdict};
use crate::catalogue::paper_file;
use crate::error::PaperError;

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
    let mut out = "\n## Settings that the paper leaves open\n\
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
        Some(record) => out.push_str(&found(paper, &open, &record)),
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

fn found(paper: &str, open: &OpenSettings, record: &InferenceRecord) -> String {
    let s = record.settings;
    let mut out = format!(
        "\n## Inferred settings\n\
         {}\n\n\
         `lowtide papers reproduce {paper} --infer --draws {}` evaluated {} settings in the reduced \
         form. Of the better quarter, {} are consistent with the fitted claims: their loss is \
         within one standard error of the least. They are settings that were tried, so a narrow \
         range is no confidence interval. Influence is the part of the variance of the loss that \
         a parameter explains alone (omega squared among the draws), with its p value.\n\n\
         | parameter | inferred | consistent settings | influence |\n|---|---|---|---|\n",
        record.answer(),
        s.draws,
        s.screened,
        s.consistent
    );
    for p in &record.parameter {
        let influence = p
            .influence
            .map_or_else(String::new, |[index, p]| format!("{index:.2} (p: {})", probability(p)));
        let at_bound = |of: &&OpenParameter| of.name == p.name && of.is_at_bound(&p.inferred);
        let note =
            if open.parameters.iter().any(|of| at_bound(&of)) { " (at a bound)" } else { "" };
        let inferred = format!("{}{note}", p.inferred_text());
        let _ = writeln!(out, "| `{}` | {} | {} | {influence} |", p.name, inferred, p.consistent);
    }
    out.push_str(&held_back(record));
    out.push_str(&cannot_hold(record));
    out
}

/// Whether a claim is reproduced with the defaults and with the inferred setting.
fn reproduced(claim: &RecordedOutcome) -> (bool, bool) {
    (claim.defaults == ClaimVerdict::Reproduced, claim.inferred == ClaimVerdict::Reproduced)
}

fn held_back(record: &InferenceRecord) -> String {
    let of = |side| record.claim.iter().filter(move |c| c.side == side);
    let (fitted, held) = (of(ClaimSide::Fitted).count(), of(ClaimSide::HeldBack).count());
    let seen = of(ClaimSide::HeldBack).filter(|c| c.varied).count();
    let mut out = format!(
        "\n## Claims held back\n\
         {fitted} claims were used for fitting, {held} held back. {seen} of those held back have a \
         variation on record, whose result was seen before the split; the verdicts with the defaults \
         were known for all. Claims of both sides can use the same runs, which favours the \
         inference.{}\n\n\
         | held back | claims | defaults | inferred | finalists | draws |\n\
         |---|---|---|---|---|---|\n{}\n{}\n",
        record.correlation.map_or_else(String::new, |r| format!(
            " Among the draws, the losses of both sides have the rank correlation {r:.2}."
        )),
        score_line("all", record, false),
        score_line("without a variation", record, true)
    );
    for (title, was, is) in [
        ("Reproduced only with the inferred setting", false, true),
        ("Reproduced only with the defaults", true, false),
    ] {
        let ids: Vec<String> = of(ClaimSide::HeldBack)
            .filter(|c| reproduced(c) == (was, is))
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
    let mut out = "\n## Claims that no setting reproduces\n".to_owned();
    if record.never.is_empty() {
        out.push_str("Each claim is in its band under at least one setting.");
    } else {
        let never: Vec<String> = record.never.iter().map(code).collect();
        let _ = write!(out, "Outside their bands under all settings: {}.", never.join(", "));
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
            " Pairs that hold under many draws each and in no evaluation together: {}{more}.",
            pairs.join("; ")
        );
    }
    out.push('\n');
    out
}

/// Cells of a table row: claims held back, and those reproduced.
fn score_line(name: &str, record: &InferenceRecord, unseen: bool) -> String {
    let [claims, defaults, inferred, finalists, draws] =
        record.reproduced(ClaimSide::HeldBack, unseen);
    let percent = |n: f64| format!("{n:.1} ({:.0} %)", 100.0 * n / claims.max(1.0));
    format!(
        "| {name} | {claims} | {} | {} | {} | {} |",
        percent(defaults),
        percent(inferred),
        percent(finalists),
        percent(draws)
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
                let _ = writeln!(rows, "{}", score_line(&link, &record, false));
            }
        }
    }
    if rows.is_empty() {
        return Ok(rows);
    }
    Ok(format!(
        "\n## Claims held back, with inferred settings\n\
         The settings that a paper leaves open are inferred from a part of its claims; these are \
         the others, in the reduced form with five seeds that chose nothing. The verdicts above are those of the \
         defaults in the full form. Finalists are the best eight settings, draws as \
         many of the prior (means).\n\n\
         | paper | claims | defaults | inferred | finalists | draws |\n|---|---|---|---|---|---|\n\
         {rows}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"
        program = "0123"
        correlation = 0.5
        never = ["td-fig7/c"]
        contradictions = [["td-fig7/a", "td-fig7/b"]]
        [settings]
        draws = 8
        screened = 13
        confirmed = 5
        consistent = 2
        finalists = 2
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
        varied = true
        defaults = "reproduced"
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
        let text = found("td", &open, &toml::from_str(RECORD).unwrap());
        for part in [
            "--draws 8` evaluated 13 settings in the reduced",
            "| `gain` | 4 | 2 to 5 | 0.50 (p: 0.010) |",
            "1 claims were used for fitting, 2 held back. 1 of those held back have a",
            "the rank correlation 0.50.",
            "| all | 2 | 1.0 (50 %) | 1.0 (50 %) | 1.0 (50 %) | 0.5 (25 %) |",
            "| without a variation | 1 | 0.0 (0 %) | 1.0 (100 %) | 0.5 (50 %) | 0.2 (25 %) |",
            "Reproduced only with the inferred setting: `td-fig7/a`.",
            "Reproduced only with the defaults: `td-fig7/b`.",
            "Outside their bands under all settings: `td-fig7/c`.",
            "in no evaluation together: `td-fig7/a` and `td-fig7/b`.",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }
}
