//! `docs/reference/reproduction.md`: the recorded result of every claim, as text.
//!
//! Contract: it follows from the files of claims alone, so it changes only when the result of a
//! full run was reviewed and recorded.

use std::fmt::Write as _;

use lowtide_charts::number;
use lowtide_scenario::{HOPS_PER_SECOND, ScenarioErrors};

use super::verdict::ClaimVerdict;
use super::{Claim, ClaimError, ClaimKind, ExperimentClaims, VarySpec, experiments};

/// Experiments with more packet-hops are listed by name.
const LONG_EXPERIMENT_HOPS: u64 = 10_000_000_000;

const HEAD: &str = "\
# Reproduction of the papers' results
Generated from `papers/*/*.expected.toml`: `LOWTIDE_WRITE_DOCS=1 cargo test -p lowtide-papers
--test papers scorecard`.

`lowtide papers reproduce` runs every experiment with the paper's parameters, `lowtide papers
reproduce dctcp-fig18` one of them, and `--quick` a reduced form. It prints a line per claim and
writes one page, `runs/papers/reproduction.html`, with the paper's figures redrawn. Finished runs
are kept: the same command resumes an interrupted run, and more `--seeds` run only the new ones.
Exit status 3: a claim that is recorded here as reproduced no longer is.

**Verdicts.** `reproduced`: our 95 % interval is inside the band. `direction`: outside, in the
paper's order. `undecided`: the interval straddles the edge of the band, or one seed has no value.
`not-reproduced`: neither. `open`: no full run is recorded yet. `--vary` varies parameters that a
paper leaves open; the tables below list the results.

The bands were fixed before the first run, by the kind of claim: an order as stated, a ratio 25 %,
an absolute value of a simulation 15 %, of a testbed 30 %. A rate is reproduced if the paper's value
is in our binomial interval, or within a factor of 3; a difference has the stated band. Values that
were chosen after a look at a result are marked and do not count.
";

/// Longest line of prose on the page, columns.
const COLUMNS: usize = 100;

/// Breaks long lines of prose; table rows stay, items are indented.
fn wrapped(page: &str) -> String {
    let mut out = String::new();
    for line in page.lines() {
        if line.chars().count() <= COLUMNS || line.starts_with('|') {
            out.push_str(line);
        } else {
            let indent = if line.starts_with("- ") { "  " } else { "" };
            let options = textwrap::Options::new(COLUMNS)
                .subsequent_indent(indent)
                .break_words(false)
                .word_separator(textwrap::WordSeparator::AsciiSpace)
                .word_splitter(textwrap::WordSplitter::NoHyphenation);
            out.push_str(&textwrap::fill(line, options));
        }
        out.push('\n');
    }
    out
}

/// The whole page.
///
/// # Errors
/// A file of claims is wrong.
pub fn scorecard() -> Result<String, ClaimError> {
    let mut papers: Vec<(&str, Vec<(String, ExperimentClaims)>)> = Vec::new();
    for row in experiments() {
        let expected = ExperimentClaims::parse(row.expected, &row.claims_path())?;
        match papers.iter_mut().find(|(paper, _)| *paper == row.paper) {
            Some((_, of)) => of.push((row.id(), expected)),
            None => papers.push((row.paper, vec![(row.id(), expected)])),
        }
    }
    let mut out = HEAD.to_owned();
    out.push_str(&cost()?);
    out.push_str("\n| paper | kind | claims | reproduced | direction | undecided | not-reproduced | open |\n|---|---|---|---|---|---|---|---|\n");
    for (paper, rows) in &papers {
        for (kind, name) in KINDS {
            let claims: Vec<&Claim> = rows
                .iter()
                .flat_map(|(_, e)| &e.claims)
                .filter(|c| c.kind == kind && !c.calibrated)
                .collect();
            if claims.is_empty() {
                continue;
            }
            let with = |v: Option<ClaimVerdict>| {
                claims.iter().filter(|c| c.recorded.map(|r| r.verdict) == v).count()
            };
            let counts = ClaimVerdict::ALL.map(|v| with(Some(v)).to_string()).join(" | ");
            // Writing to a string cannot fail.
            let (all, open) = (claims.len(), with(None));
            let _ = writeln!(out, "| {paper} | {name} | {all} | {counts} | {open} |");
        }
    }
    for (_, rows) in &papers {
        for (id, expected) in rows {
            let _ = write!(out, "\n## {id}\n{}. *{}*\n\n", expected.title, expected.paper);
            if let Some(calibration) = &expected.calibration {
                let _ = write!(out, "**Calibration, not counted:** {calibration}.\n\n");
            }
            out.push_str("| claim | paper | here | verdict |\n|---|---|---|---|\n");
            for claim in &expected.claims {
                out.push_str(&line(claim));
            }
            for claim in expected.claims.iter().filter(|c| failure_reason(c).is_some()) {
                let _ = write!(
                    out,
                    "\n- `{}`: {}.",
                    claim.id,
                    failure_reason(claim).unwrap_or_default()
                );
            }
            if expected.claims.iter().any(|c| failure_reason(c).is_some()) {
                out.push('\n');
            }
            for vary in &expected.vary {
                out.push_str(&variation_table(vary));
            }
        }
    }
    Ok(wrapped(&out))
}

/// Cost of running all experiments.
fn cost() -> Result<String, ClaimError> {
    let mut all: Vec<(u64, String)> = Vec::new();
    for row in experiments() {
        let fail =
            |e: ScenarioErrors| ClaimError { file: row.claims_path(), message: e.to_string() };
        let plan = row.scenario().map_err(fail)?.expand().map_err(fail)?;
        all.push((plan.estimate().hops, format!("`{}`", row.id())));
    }
    let hours = |hops: u64| {
        let hours = hops as f64 / (2 * HOPS_PER_SECOND * 3600) as f64;
        format!("{} x 10^9 packet-hops, {hours:.1} hours", hops / 1_000_000_000)
    };
    let whole: u64 = all.iter().map(|(hops, _)| hops).sum();
    let long: Vec<_> = all.into_iter().filter(|(hops, _)| *hops >= LONG_EXPERIMENT_HOPS).collect();
    let longest: u64 = long.iter().map(|(hops, _)| hops).sum();
    let names: Vec<String> = long.into_iter().map(|(_, name)| name).collect();
    Ok(format!(
        "\n**Run time** at {} million packet-hops per second on each of two cores: five minutes for the reduced forms; \
         {} for the full forms; {} without {}.\n",
        HOPS_PER_SECOND / 1_000_000,
        hours(whole),
        hours(whole - longest),
        names.join(", "),
    ))
}

/// Results of varying what the paper leaves open.
fn variation_table(vary: &VarySpec) -> String {
    let mut out = format!("\n{}: `{}`", vary.says, vary.key);
    if vary.recorded.is_empty() {
        return out + ", not run yet.\n";
    }
    let ids: Vec<String> = vary.claims.iter().map(|id| format!("`{id}`")).collect();
    let line = "---|".repeat(ids.len());
    let _ = write!(out, ".\n\n| value | {} |\n|---|{line}\n", ids.join(" | "));
    for seen in &vary.recorded {
        let value = |id| seen.measured.get(id).map_or_else(String::new, |v| number(*v));
        let values: Vec<String> = vary.claims.iter().map(value).collect();
        let _ = writeln!(out, "| {} | {} |", seen.at, values.join(" | "));
    }
    out
}

const KINDS: [(ClaimKind, &str); 6] = [
    (ClaimKind::Ordering, "ordering"),
    (ClaimKind::Ratio, "ratio"),
    (ClaimKind::Simulation, "simulation"),
    (ClaimKind::Testbed, "testbed"),
    (ClaimKind::Rate, "rate"),
    (ClaimKind::Difference, "difference"),
];

/// The reason of a claim whose recorded verdict is not `reproduced`.
fn failure_reason(claim: &Claim) -> Option<&str> {
    let not = claim.recorded.is_some_and(|r| r.verdict != ClaimVerdict::Reproduced);
    claim.reason.as_deref().filter(|_| not)
}

fn line(claim: &Claim) -> String {
    let unit = if claim.unit.is_empty() { String::new() } else { format!(" {}", claim.unit) };
    let paper = match (claim.reported, claim.at_least, claim.at_most) {
        (Some(r), ..) => format!("{}{unit}", number(r)),
        (None, Some(a), Some(b)) => format!("{} to {}{unit}", number(a), number(b)),
        (None, Some(a), None) => format!("at least {}{unit}", number(a)),
        (None, None, Some(b)) => format!("at most {}{unit}", number(b)),
        _ => String::new(),
    };
    let here = claim.recorded.map_or_else(String::new, |r| match (r.measured, r.ci95) {
        (None, _) => "\u{2013}".to_owned(),
        (Some(m), None) => number(m),
        (Some(m), Some([a, b])) => format!("{} ({} to {})", number(m), number(a), number(b)),
    });
    let verdict = claim.recorded.map_or("open", |r| r.verdict.name());
    let apart = if claim.calibrated { ", not counted" } else { "" };
    format!(
        "| `{}`: {} ({}) | {paper} | {here} | {verdict}{apart} |\n",
        claim.id, claim.says, claim.source
    )
}
