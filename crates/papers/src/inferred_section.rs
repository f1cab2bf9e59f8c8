//! The result of an inference, on the page of its paper and in the scorecard.

use std::fmt::Write as _;

use lowtide_charts::number;

use super::infer::{
    ClaimSide, InferenceRecord, InferenceSubject, OpenParameter, OpenSettings, RecordedOutcome,
    probability,
};
use super::paper_page::PAGES;
use super::{ClaimError, ClaimKind, ClaimVerdict};
use crate::catalogue::paper_file;
use crate::error::PaperError;

/// Columns of scores.
const COLUMNS: &str = "\
    | claims | defaults | inferred | finalists | draws | defaults, more seeds | inferred, more seeds |
|---|---|---|---|---|---|---|---|
";

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
        Some(record) => out.push_str(&found(&subject, &open, &record)),
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
    out.push_str(&held_back(subject, record));
    out.push_str(&cannot_hold(record));
    out
}

/// Whether a claim is reproduced with the defaults and with the inferred setting, with more seeds
/// if five leave it undecided.
fn reproduced(claim: &RecordedOutcome) -> (bool, bool) {
    let is = |first, more: Option<ClaimVerdict>| more.unwrap_or(first) == ClaimVerdict::Reproduced;
    (is(claim.defaults, claim.defaults_decided), is(claim.inferred, claim.inferred_decided))
}

fn of_held_back(record: &InferenceRecord) -> impl Iterator<Item = &RecordedOutcome> {
    record.claim.iter().filter(|c| c.side == ClaimSide::HeldBack)
}

fn held_back(subject: &InferenceSubject, record: &InferenceRecord) -> String {
    let held = of_held_back(record).count();
    let fitted = record.claim.len() - held;
    let seen = of_held_back(record).filter(|c| c.varied).count();
    let mut out = format!(
        "\n## Claims held back\n\
         {fitted} claims were used for fitting, {held} held back. {seen} of those held back have a \
         variation on record, whose result was seen before the split; the verdicts with the defaults \
         were known for all. Claims of both sides can use the same runs, which favours the \
         inference.{}\n\
         With more seeds: verdicts that are undecided for want of seeds are those of further \
         looks, with up to 20 seeds.\n\n\
         | held back {COLUMNS}",
        record.correlation.map_or_else(String::new, |r| format!(
            " Among the draws, the losses of both sides have the rank correlation {r:.2}."
        ))
    );
    let kind = |c: &RecordedOutcome| subject.kind_of(&c.id);
    out.push_str(&score_line("all", record, |_| true));
    out.push_str(&score_line("without a variation", record, |c| !c.varied));
    for of in ClaimKind::ALL {
        if of_held_back(record).any(|c| kind(c) == Some(of)) {
            out.push_str(&score_line(of.name(), record, |c| kind(c) == Some(of)));
        }
    }
    for (title, was, is) in [
        ("Reproduced only with the inferred setting", false, true),
        ("Reproduced only with the defaults", true, false),
    ] {
        let ids: Vec<String> = of_held_back(record)
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
    let mut out = format!(
        "\n## Claims that no setting reproduces\n\
         Claims held back in their bands, with one seed: under the one setting that has most of \
         them there, and under a setting each. The first bounds what any choice among the {} \
         settings can reach, even with knowledge of these claims.\n\n\
         | held back | claims | under one setting | under a setting each |\n|---|---|---|---|\n",
        record.settings.screened
    );
    for m in &record.most {
        let _ =
            writeln!(out, "| {} | {} | {} | {} |", m.kind_name(), m.claims, m.together, m.apart);
    }
    out.push('\n');
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
         the others, in the reduced form with five seeds that chose nothing. The verdicts above are \
         those of the defaults in the full form. Finalists are the best eight settings, draws as \
         many of the prior (means). With more seeds: claims that five seeds leave undecided have up \
         to 20.\n\n\
         | paper {COLUMNS}{rows}"
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
        [[most]]
        side = "held-back"
        kind = "ratio"
        claims = 2
        together = 1
        apart = 2
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
            "--draws 8` evaluated 13 settings in the reduced",
            "| `gain` | 4 | 2 to 5 | 0.50 (p: 0.010) |",
            "1 claims were used for fitting, 2 held back. 1 of those held back have a",
            "the rank correlation 0.50.",
            "| all | 2 | 0 (0 %) | 1 (50 %) | 1 (50 %) | 0.5 (25 %) | 1 (50 %) | 1 (50 %) |",
            "| without a variation | 1 | 0 (0 %) | 1 (100 %) | 0.5 (50 %) | 0.3 (25 %) | 0 (0 %) | 1 (100 %) |",
            "Reproduced only with the inferred setting: `td-fig7/a`.",
            "Reproduced only with the defaults: `td-fig7/b`.",
            "13 settings can reach, even",
            "| ratio | 2 | 1 | 2 |",
            "Outside their bands under all settings: `td-fig7/c`.",
            "in no evaluation together: `td-fig7/a` and `td-fig7/b`.",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }
}
