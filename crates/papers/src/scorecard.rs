//! `docs/reference/reproduction.md`: the recorded verdicts of all papers, counted.
//!
//! Contract: it follows from the files of claims alone, so it changes only when the result of a
//! full run was reviewed and recorded.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::markdown::wrapped;
use super::old_claims::{old_claims, share};
use super::paper_page::{PAGES, PageExperiment, packet_hops, run_time, verdict_counts};
use super::verdict::ClaimVerdict;
use super::{Claim, ClaimError, ClaimKind, experiments};

/// Experiments with more packet-hops are listed by name.
const LONG_EXPERIMENT_HOPS: u64 = 10_000_000_000;

const HEAD: &str = "\
# Reproduction of the papers' results
Generated from `papers/*/*.expected.toml`: `LOWTIDE_WRITE_DOCS=1 cargo test -p lowtide-papers
--test papers scorecard`. A page for each paper has every claim, our result, and the reason of each
claim that is not reproduced.

**Counts.** A datum has one claim: a test refuses two claims of an experiment from the same measures,
whatever their unit or direction, and a ratio of two values that each have a claim. A second
reading of a statement is a variation and does not count. The share is that of all claims of a row,
`open` and `undecided` ones included. Claims that a parameter was fitted to are not counted.

`lowtide papers reproduce` runs every experiment with the paper's parameters, `lowtide papers
reproduce dctcp-fig18` one of them, and `--quick` a reduced form. It prints a line per claim and
writes one page, `runs/papers/reproduction.html`, with the paper's figures redrawn. Finished runs
are kept: the same command resumes an interrupted run, and more `--seeds` run only the new ones.
Exit status 3: a claim that is recorded here as reproduced no longer is.

**Verdicts.** `reproduced`: our 95 % interval is inside the band. `direction`: outside, in the
paper's order. `undecided`: the interval straddles the edge of the band, a seed has no value, or the
claim cannot tell. `not-reproduced`: neither. `open`: no full run is recorded yet. A claim cannot
tell if it compares two values, as ratio or difference, that are equal in every seed. Two values of
the same rows, as the last and the largest, are no comparison, nor is the share of rows among all. A
single value that all seeds share, as of no timeouts, can tell. The interval is Student's t over
seeds, from two seeds on. If it leaves the possible range, as that of a share, it is computed on the
logarithm of the value or of its odds. A verdict with more seeds than the
experiment has (`--decide N`) has an interval at a higher level, which its page states. `--vary`
varies parameters that a paper leaves open; the pages of the papers have the results. A search over
all of them, before the settings of 2026-11-28, found no better values
([inferred settings](../evidence/inferred-settings.md)).

The bands of kinds were fixed before the first run, and bounds of orders were revised on 2026-11-28
after a reading of the papers without our values: an order as stated, a ratio 25 %,
an absolute value of a simulation 15 %, of a testbed 30 %, a rate a third to three times the paper's
value. A difference has the stated band. A bound of an order other than zero and one, and the band
of each difference, has its source beside it. The interval of a rate is binomial.

A ratio r that the paper reports as an effect (`effect = true`) is judged on the effect, r - 1, or
1 - 1/r below one. It must be within 50 % of the paper's, with the whole interval on its side of
one, and within 25 % of the ratio.
";

/// Header of the columns of [`counts`].
const VERDICTS: &str =
    "claims | reproduced | direction | undecided | not-reproduced | open | share reproduced |\n";

/// The whole page.
///
/// # Errors
/// A file of claims is wrong.
pub fn scorecard() -> Result<String, ClaimError> {
    let mut pages = Vec::new();
    for page in &PAGES {
        pages.push((page, page.experiments()?));
    }
    let mut papers = String::new();
    let mut kinds = String::new();
    let mut all: Vec<&Claim> = Vec::new();
    let mut today: BTreeMap<String, &Claim> = BTreeMap::new();
    for (page, experiments) in &pages {
        let claims: Vec<&Claim> = experiments.iter().flat_map(PageExperiment::counted).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(papers, "| [{}](papers/{}) | {} |", page.name, page.file, counts(&claims));
        kinds.push_str(&by_kind(page.name, &claims));
        all.extend(claims);
        for row in experiments {
            let id = row.id();
            today.extend(
                row.claims().into_iter().map(|claim| (format!("{id}/{}", claim.id), claim)),
            );
        }
    }
    let _ = writeln!(papers, "| all | {} |", counts(&all));
    kinds.push_str(&by_kind("all", &all));
    let mut out = HEAD.to_owned();
    out.push_str(&cost()?);
    for (title, first, rows) in
        [("By paper", "paper |", papers), ("By kind of claim", "paper | kind |", kinds)]
    {
        let line = "---|".repeat(first.matches('|').count() + 7);
        let _ = write!(out, "\n## {title}\n| {first} {VERDICTS}|{line}\n{rows}");
    }
    out.push_str(&old_claims(&today)?);
    Ok(wrapped(&out))
}

/// A row for each kind of claim.
fn by_kind(name: &str, claims: &[&Claim]) -> String {
    let mut rows = String::new();
    for kind in ClaimKind::ALL {
        let of_kind: Vec<&Claim> = claims.iter().copied().filter(|c| c.kind == kind).collect();
        if !of_kind.is_empty() {
            let _ = writeln!(rows, "| {name} | {} | {} |", kind.name(), counts(&of_kind));
        }
    }
    rows
}

/// Counts of verdicts and the share reproduced as cells.
fn counts(claims: &[&Claim]) -> String {
    let reproduced = claims.iter().filter(|c| c.verdict() == Some(ClaimVerdict::Reproduced));
    format!("{} | {}", verdict_counts(claims), share(reproduced.count(), claims.len()))
}

/// Cost of running all experiments.
fn cost() -> Result<String, ClaimError> {
    let mut all: Vec<(u64, String)> = Vec::new();
    for row in experiments() {
        all.push((packet_hops(&row)?, format!("`{}`", row.id())));
    }
    let whole: u64 = all.iter().map(|(hops, _)| hops).sum();
    let long: Vec<_> = all.into_iter().filter(|(hops, _)| *hops >= LONG_EXPERIMENT_HOPS).collect();
    let longest: u64 = long.iter().map(|(hops, _)| hops).sum();
    let names: Vec<String> = long.into_iter().map(|(_, name)| name).collect();
    Ok(format!(
        "\n**Run time**, estimated at {} million packet-hops per second on each core: five minutes for the reduced forms; \
         {} for the full forms; {} without {}.\n",
        lowtide_scenario::HOPS_PER_SECOND / 1_000_000,
        run_time(whole),
        run_time(whole - longest),
        names.join(", "),
    ))
}
