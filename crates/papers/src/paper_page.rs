//! `docs/reference/papers/`: a page for each paper, with its claims, their recorded verdicts and
//! what differs in the setup.
//!
//! Contract: a page follows from the files of claims, the scenarios and the text in
//! `crates/papers/pages/`, so it changes only when one of these was reviewed and changed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use lowtide_charts::number;
use lowtide_scenario::{HOPS_PER_SECOND, ScenarioErrors};

use super::markdown::wrapped;
use super::open_settings::open_settings_table;
use super::unstated::{UnstatedSetting, unstated_settings};
use super::verdict::ClaimVerdict;
use super::{Claim, ClaimError, Experiment, ExperimentClaims, VarySpec, experiments};

/// A paper, and its page below `docs/reference/papers/`.
#[derive(Debug)]
pub(crate) struct PaperPage {
    /// File name of the page.
    pub(crate) file: &'static str,
    /// Name of the paper in tables.
    pub(crate) name: &'static str,
    /// Folder of its experiments below `papers/`.
    pub(crate) folder: &'static str,
    /// Sections whose claims are on this page; empty: all that no earlier page of the folder has.
    sections: &'static [&'static str],
    /// Title, claims of the paper as a whole, differences in setup.
    head: &'static str,
}

/// The pages, in the order of the scorecard.
pub(crate) const PAGES: [PaperPage; 5] = [
    PaperPage {
        file: "dctcp.md",
        name: "DCTCP",
        folder: "dctcp",
        sections: &[],
        head: include_str!("../pages/dctcp.md"),
    },
    PaperPage {
        file: "one-sided.md",
        name: "One-sided DCTCP",
        folder: "od",
        sections: &["§5", "§7.3"],
        head: include_str!("../pages/one-sided.md"),
    },
    PaperPage {
        file: "freebsd.md",
        name: "DCTCP in FreeBSD",
        folder: "od",
        sections: &[],
        head: include_str!("../pages/freebsd.md"),
    },
    PaperPage {
        file: "tdctcp.md",
        name: "TDCTCP",
        folder: "td",
        sections: &[],
        head: include_str!("../pages/tdctcp.md"),
    },
    PaperPage {
        file: "dx.md",
        name: "DX",
        folder: "dx",
        sections: &[],
        head: include_str!("../pages/dx.md"),
    },
];

/// An experiment, and those of its claims that are on one page.
pub(crate) struct PageExperiment {
    pub(crate) experiment: Experiment,
    expected: ExperimentClaims,
    claim_indices: Vec<usize>,
}

impl PageExperiment {
    /// Its identifier.
    pub(crate) fn id(&self) -> String {
        self.experiment.id()
    }

    /// Its title.
    pub(crate) fn title(&self) -> &str {
        &self.expected.title
    }

    /// Its claims on this page that count: no parameter was fitted to them.
    pub(crate) fn counted(&self) -> Vec<&Claim> {
        self.claims().into_iter().filter(|claim| !claim.calibrated).collect()
    }

    /// Its claims on this page.
    pub(crate) fn claims(&self) -> Vec<&Claim> {
        self.claim_indices.iter().filter_map(|i| self.expected.claims.get(*i)).collect()
    }
}

impl PaperPage {
    /// True if a claim of `folder` with this source is on the page or on an earlier one.
    fn takes(&self, folder: &str, claim: &Claim) -> bool {
        self.folder == folder
            && (self.sections.is_empty() || self.sections.iter().any(|s| claim.source.contains(s)))
    }

    /// The experiments with claims on this page.
    ///
    /// # Errors
    /// A file of claims is wrong, or a folder of experiments has no page.
    pub(crate) fn experiments(&self) -> Result<Vec<PageExperiment>, ClaimError> {
        let mut out = Vec::new();
        for experiment in experiments() {
            let file = experiment.claims_path();
            if !PAGES.iter().any(|page| page.folder == experiment.paper) {
                let message = "no page has this paper; add one to `PAGES` in \
                               crates/papers/src/paper_page.rs";
                return Err(ClaimError { file, message: message.to_owned() });
            }
            if experiment.paper != self.folder {
                continue;
            }
            let expected = ExperimentClaims::parse(experiment.expected, &file)?;
            let mut claim_indices = Vec::new();
            for (index, claim) in expected.claims.iter().enumerate() {
                let page = PAGES.iter().find(|page| page.takes(experiment.paper, claim));
                if page.is_some_and(|page| page.file == self.file) {
                    claim_indices.push(index);
                }
            }
            if !claim_indices.is_empty() {
                out.push(PageExperiment { experiment, expected, claim_indices });
            }
        }
        Ok(out)
    }

    /// The page as text.
    fn render(&self) -> Result<String, ClaimError> {
        let experiments = self.experiments()?;
        let mut out = format!("{}\n", self.head);
        out.push_str("## Experiments\nClaims that were used for calibration are not counted.\n\n");
        out.push_str("| experiment | content | claims | reproduced | direction | undecided | not-reproduced | open |\n");
        out.push_str("|---|---|---|---|---|---|---|---|\n");
        for row in &experiments {
            let (id, title, counts) = (row.id(), row.title(), verdict_counts(&row.counted()));
            // Writing to a string cannot fail.
            let _ = writeln!(out, "| [`{id}`](#{}) | {title} | {counts} |", anchor(&id));
        }
        for row in &experiments {
            out.push_str(&section(row));
        }
        out.push_str(&unstated_table(&experiments));
        if PAGES.iter().find(|page| page.folder == self.folder).is_some_and(|p| p.file == self.file)
        {
            out.push_str(&open_settings_table(self.folder)?);
        }
        out.push_str(&self.how_to_run(&experiments)?);
        Ok(wrapped(&out))
    }

    /// Commands and their cost.
    fn how_to_run(&self, rows: &[PageExperiment]) -> Result<String, ClaimError> {
        let mut hops = 0;
        for row in rows {
            hops += packet_hops(&row.experiment)?;
        }
        // One page of a folder is run by the name of the folder, one of several by experiments.
        let several = PAGES.iter().filter(|page| page.folder == self.folder).count() > 1;
        let ids: Vec<String> = rows.iter().map(PageExperiment::id).collect();
        let all = if several { ids.join(" ") } else { self.folder.to_owned() };
        let one = ids.first().map(String::as_str).unwrap_or_default();
        Ok(format!(
            "\n## Commands\n```sh\n\
             lowtide papers reproduce --quick {all}\n\
             lowtide papers reproduce {all}\n\
             lowtide papers reproduce {one}\n\
             lowtide papers reproduce --vary {one}\n```\n\
             The first command runs the reduced forms, the second the full ones ({}), the third one experiment. The last one also varies what the paper leaves open. The page `runs/papers/reproduction.html` then has the paper's figures redrawn.\n",
            run_time(hops)
        ))
    }
}

/// Name and text of every page below `docs/reference/papers/`.
///
/// # Errors
/// A file of claims is wrong.
pub fn paper_pages() -> Result<BTreeMap<&'static str, String>, ClaimError> {
    PAGES.iter().map(|page| Ok((page.file, page.render()?))).collect()
}

/// Claims in all, with each verdict, and without a recorded one, as cells of a table row.
pub(crate) fn verdict_counts(claims: &[&Claim]) -> String {
    let with =
        |verdict: Option<ClaimVerdict>| claims.iter().filter(|c| c.verdict() == verdict).count();
    let counts = ClaimVerdict::ALL.map(|v| with(Some(v)).to_string()).join(" | ");
    format!("{} | {counts} | {}", claims.len(), with(None))
}

/// Anchor of the section of an experiment: a site's heading has no dots in its anchor.
pub(crate) fn anchor(id: &str) -> String {
    id.replace('.', "")
}

/// Packet-hops of the full form of an experiment, estimated.
pub(crate) fn packet_hops(row: &Experiment) -> Result<u64, ClaimError> {
    let fail = |e: ScenarioErrors| ClaimError { file: row.claims_path(), message: e.to_string() };
    let plan = row.scenario().map_err(fail)?.expand().map_err(fail)?;
    Ok(plan.estimate().hops)
}

/// A number of packet-hops and their time on two cores.
pub(crate) fn run_time(hops: u64) -> String {
    let minutes = hops as f64 / (2 * HOPS_PER_SECOND * 60) as f64;
    let time = if minutes < 60.0 {
        format!("{:.0} minutes", minutes.ceil())
    } else {
        format!("{:.1} hours", minutes / 60.0)
    };
    format!("{:.1} x 10^9 packet-hops, about {time} on two cores", hops as f64 / 1e9)
}

/// The settings that the paper does not state, each with the experiments that use it.
fn unstated_table(rows: &[PageExperiment]) -> String {
    let mut settings: Vec<(UnstatedSetting, Vec<String>)> = Vec::new();
    for row in rows {
        for setting in unstated_settings(row.experiment.scenario) {
            match settings.iter_mut().find(|(known, _)| *known == setting) {
                Some((_, ids)) => ids.push(format!("`{}`", row.id())),
                None => settings.push((setting, vec![format!("`{}`", row.id())])),
            }
        }
    }
    if settings.is_empty() {
        return String::new();
    }
    let mut out = "\n## Settings that the paper does not state\n\
                   | key | here | reason | experiments |\n|---|---|---|---|\n"
        .to_owned();
    for (setting, ids) in settings {
        let UnstatedSetting { key, value, reason } = setting;
        let _ = writeln!(out, "| `{key}` | `{value}` | {reason} | {} |", ids.join(", "));
    }
    out
}

/// The section of an experiment: its claims, the reasons of those not reproduced, variations.
fn section(row: &PageExperiment) -> String {
    let (id, expected) = (row.id(), &row.expected);
    let mut out = format!("\n## {id}\n{}. *{}*\n\n", expected.title, expected.paper);
    if let Some(calibration) = &expected.calibration {
        let _ = write!(out, "**Calibration, not counted:** {calibration}.\n\n");
    }
    out.push_str("| claim | paper | here | verdict |\n|---|---|---|---|\n");
    let claims = row.claims();
    for claim in &claims {
        out.push_str(&line(claim));
    }
    for vary in &expected.vary {
        let varied: Vec<&str> = vary
            .claims
            .iter()
            .map(String::as_str)
            .filter(|id| claims.iter().any(|c| c.id == *id))
            .collect();
        if !varied.is_empty() {
            out.push_str(&variation_table(vary, &varied));
        }
    }
    out
}

/// Results of varying what the paper leaves open, for the claims `ids`.
fn variation_table(vary: &VarySpec, ids: &[&str]) -> String {
    let mut out = format!("\n{}: `{}`", vary.says, vary.key);
    if vary.recorded.is_empty() {
        return out + ", not run yet.\n";
    }
    let names: Vec<String> = ids.iter().map(|id| format!("`{id}`")).collect();
    let line = "---|".repeat(ids.len());
    let _ = write!(out, ".\n\n| value | {} |\n|---|{line}\n", names.join(" | "));
    for seen in &vary.recorded {
        let value = |id: &&str| seen.measured.get(*id).map_or_else(String::new, |v| number(*v));
        let values: Vec<String> = ids.iter().map(value).collect();
        let _ = writeln!(out, "| {} | {} |", seen.at, values.join(" | "));
    }
    out
}

/// The row of a claim; a verdict other than `reproduced` has its reason, beside a link to the
/// evidence.
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
    let verdict = claim.verdict().map_or("open", ClaimVerdict::name);
    let further = claim.recorded.and_then(|r| r.further).map_or_else(String::new, |look| {
        format!(" ({} seeds, at {} %)", look.seeds, number(100.0 * look.level))
    });
    let apart = if claim.calibrated { ", not counted" } else { "" };
    let fails = claim.verdict().is_some_and(|verdict| verdict != ClaimVerdict::Reproduced);
    let reason = claim.reason.as_ref().filter(|_| fails);
    let reason = reason.map_or_else(String::new, |why| format!(": {why}"));
    let evidence = claim.evidence.as_ref().map_or_else(String::new, |section| {
        format!(" ([evidence](../../evidence/papers/{section}))")
    });
    format!(
        "| `{}`: {} ({}) | {paper} | {here} | {verdict}{further}{apart}{reason}{evidence} |\n",
        claim.id, claim.says, claim.source
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_claim_is_on_exactly_one_page() {
        let mut seen = BTreeSet::new();
        for page in &PAGES {
            for row in page.experiments().unwrap() {
                for claim in row.claims() {
                    let key = format!("{} {}", row.id(), claim.id);
                    assert!(seen.insert(key.clone()), "{key} is on two pages");
                }
            }
        }
        for row in experiments() {
            for claim in ExperimentClaims::parse(row.expected, "").unwrap().claims {
                let key = format!("{} {}", row.id(), claim.id);
                assert!(seen.contains(&key), "{key} is on no page");
            }
        }
    }

    #[test]
    fn recorded_verdicts_are_those_of_the_recorded_values() {
        for row in experiments() {
            for claim in ExperimentClaims::parse(row.expected, "").unwrap().claims {
                let computed = crate::judge::recorded_verdict(&claim);
                let recorded = claim.recorded.map(|r| r.verdict).filter(|_| computed.is_some());
                assert_eq!(computed, recorded, "{} {}: {:?}", row.id(), claim.id, claim.recorded);
            }
        }
    }

    #[test]
    fn a_claim_has_its_reason_and_its_evidence_beside_it() {
        let text = "paper = \"P\"\ntitle = \"T\"\n[[claim]]\nid = \"a\"\nsays = \"b\"\n\
                    source = \"fig. 1\"\nkind = \"ordering\"\nat-most = 0\nreason = \"known\"\n\
                    evidence = \"dx.md#dx-fig15\"\nrecorded = { verdict = \"undecided\" }\n\
                    measure = { table = \"flows\", column = \"fct_ps\", reduce = \"mean\" }";
        let mut claim = ExperimentClaims::parse(text, "x").unwrap().claims.remove(0);
        let link = "([evidence](../../evidence/papers/dx.md#dx-fig15)) |\n";
        assert!(line(&claim).ends_with(&format!("| undecided: known {link}")), "{}", line(&claim));
        claim.recorded = None;
        assert!(line(&claim).ends_with(&format!("| open {link}")), "{}", line(&claim));
    }
}
