//! The page of an inference: what the paper leaves open, what was inferred, what then holds that
//! was not used, and what cannot hold.

use lowtide_charts::page::{figure, fill};
use lowtide_charts::{Chart, ColorScale, FigureFiles, HeatGrid, HeatMap, number};
use minijinja::context;
use minijinja::value::Serde;
use serde::Serialize;

use super::cross_validation::cross_validation_text;
use super::record::{InferenceRecord, RecordedParameter};
use super::result::{
    ClaimOutcome, InferenceResult, InferenceScore, InferredParameter, ScoredSettings,
    SettingVerdict,
};
use super::split::ClaimSide;
use crate::error::PaperError;
use crate::judge::band_text;
use crate::{ClaimKind, ClaimVerdict, reference_of_paper};

/// Columns of the figure for the settings by loss.
const GROUPS: usize = 8;

/// Contradictions on the page.
const PAIRS: usize = 20;

#[derive(Serialize)]
struct ClaimRow<'a> {
    name: &'a str,
    says: &'a str,
    source: &'a str,
    kind: &'static str,
    paper: String,
    defaults: String,
    defaults_verdict: String,
    inferred: String,
    inferred_verdict: String,
    draws: String,
    consistent: String,
    varied_before: bool,
}

#[derive(Serialize)]
struct ParameterRow<'a> {
    #[serde(flatten)]
    of: &'a InferredParameter,
    /// The inferred value as text.
    recorded: &'a str,
    /// Values of the consistent settings.
    spread: &'a str,
    index: String,
    p: String,
}

#[derive(Serialize)]
struct ScoreRow {
    side: &'static str,
    kind: &'static str,
    claims: usize,
    /// By group of settings.
    cells: [String; 6],
}

/// The page.
pub(super) fn page(result: &InferenceResult, command: &str) -> Result<String, PaperError> {
    let side = |side| result.claims.iter().filter(move |c| c.side == side);
    let rows = |of| -> Vec<ClaimRow<'_>> { side(of).map(claim_row).collect() };
    let title = reference_of_paper(&result.paper).map(|r| r.title.clone());
    let never = |of| -> Vec<ClaimRow<'_>> {
        side(of).filter(|c| result.never_in_band.contains(&c.id)).map(claim_row).collect()
    };
    let record = InferenceRecord::from(result);
    let pairs = result.parameters.iter().zip(&record.parameter);
    let parameters: Vec<ParameterRow<'_>> =
        pairs.map(|pair| parameter_row(pair, record.parameter.len())).collect();
    let drawn = FigureFiles::of_chart(&Chart::Grids(map(result)))?;
    let page = context! {
        paper => result.paper.as_str(),
        title => title.unwrap_or_default(),
        settings => Serde(result.settings),
        answer => record.answer(),
        correlation => record.correlation_text(),
        cross_validation => cross_validation_text(record.cross_validation),
        inferred_is_consistent => result.inferred_is_consistent,
        parameters => Serde(parameters),
        not_inferable => Serde(&result.not_inferable),
        figure => figure(&drawn, None),
        scores => Serde(score_rows(result)),
        held_back => Serde(rows(ClaimSide::HeldBack)),
        fitted => Serde(rows(ClaimSide::Fitted)),
        varied_before => side(ClaimSide::HeldBack).filter(|c| c.varied_before).count(),
        never_in_band_held_back => Serde(never(ClaimSide::HeldBack)),
        never_in_band_fitted => Serde(never(ClaimSide::Fitted)),
        best_case => Serde(best_case_rows(result)),
        contradictions => Serde(&result.contradictions[..result.contradictions.len().min(PAIRS)]),
        more_contradictions => result.contradictions.len().saturating_sub(PAIRS),
        unmeasured => Serde(&result.unmeasured),
        command,
        version => result.version.as_str(),
        program => result.program.as_str(),
    };
    Ok(fill(include_str!("inference.html"), &page)?)
}

fn parameter_row<'a>(
    (of, recorded): (&'a InferredParameter, &'a RecordedParameter),
    parameters: usize,
) -> ParameterRow<'a> {
    let [index, p] = recorded.influence_texts(parameters);
    ParameterRow { of, recorded: recorded.inferred_text(), spread: &recorded.consistent, index, p }
}

fn score_rows(result: &InferenceResult) -> Vec<ScoreRow> {
    let defaults = result.scores.iter().filter(|s| s.of == ScoredSettings::Defaults);
    let row = |one: &InferenceScore| {
        let cell = |of| {
            let same = |s: &&InferenceScore| s.of == of && s.is_like(one);
            result.scores.iter().find(same).map_or_else(String::new, score_text)
        };
        let groups = [
            ScoredSettings::Defaults,
            ScoredSettings::Inferred,
            ScoredSettings::Finalists,
            ScoredSettings::Draws,
            ScoredSettings::DefaultsDecided,
            ScoredSettings::InferredDecided,
        ];
        ScoreRow {
            side: one.side.name(),
            kind: one.kind_name(),
            claims: one.claims,
            cells: groups.map(cell),
        }
    };
    defaults.map(row).collect()
}

/// Kind, number, claims under one setting and under a setting each, of the claims held back.
fn best_case_rows(result: &InferenceResult) -> Vec<(&'static str, usize, usize, usize)> {
    let of = result.best_case.iter().filter(|m| m.side == ClaimSide::HeldBack);
    of.map(|m| (m.kind_name(), m.claims, m.jointly, m.somewhere)).collect()
}

/// As text: `12 (57 %)`.
pub fn share_text(score: &InferenceScore) -> String {
    let mean = score.reproduced[0];
    let percent = 100.0 * mean / score.claims.max(1) as f64;
    format!("{} ({percent:.0} %)", number((mean * 10.0).round() / 10.0))
}

/// As text: `12 (57 %)`, with the range of several settings.
fn score_text(score: &InferenceScore) -> String {
    let [mean, least, most] = score.reproduced;
    let percent = 100.0 * mean / score.claims.max(1) as f64;
    let range = if most > least { format!(", {least:.0} to {most:.0}") } else { String::new() };
    let undecided = match score.undecided {
        n if n > 0.0 => format!("; {} undecided", number((n * 10.0).round() / 10.0)),
        _ => String::new(),
    };
    let loss = format!("; loss {:.2}", score.loss);
    format!("{} ({percent:.0} %{range}{undecided}{loss})", number((mean * 10.0).round() / 10.0))
}

impl InferenceScore {
    /// Name of the kind of the claims.
    pub fn kind_name(&self) -> &'static str {
        self.kind.map_or(
            if self.without_varied { "all not varied before" } else { "all" },
            ClaimKind::name,
        )
    }

    /// Whether it is a score on the same claims.
    pub fn is_like(&self, other: &Self) -> bool {
        (self.side, self.kind, self.without_varied)
            == (other.side, other.kind, other.without_varied)
    }
}

fn claim_row(claim: &ClaimOutcome) -> ClaimRow<'_> {
    let unit = if claim.unit.is_empty() { String::new() } else { format!(" {}", claim.unit) };
    let value = |v: &SettingVerdict| {
        let of_look = v.further.map(|look| (look.measured, look.ci95));
        match of_look.unwrap_or((v.measured, v.ci95)) {
            (None, _) => "\u{2013}".to_owned(),
            (Some(m), None) => format!("{}{unit}", number(m)),
            (Some(m), Some([a, b])) => {
                format!("{}{unit} ({} to {})", number(m), number(a), number(b))
            }
        }
    };
    let verdict = |v: &SettingVerdict| match v.further {
        None => v.verdict.name().to_owned(),
        Some(look) => {
            format!("{}; with {} seeds {}", v.verdict.name(), look.seeds, look.verdict.name())
        }
    };
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let reported = claim.reported.map_or_else(String::new, |r| format!("{}{unit}; ", number(r)));
    ClaimRow {
        name: &claim.id,
        says: &claim.says,
        source: &claim.source,
        kind: claim.kind.name(),
        paper: format!("{}band {}{unit}", reported, band_text(claim.band)),
        defaults: value(&claim.defaults),
        defaults_verdict: verdict(&claim.defaults),
        inferred: value(&claim.inferred),
        inferred_verdict: verdict(&claim.inferred),
        draws: percent(claim.in_band_of_draws),
        consistent: percent(claim.in_band_of_consistent),
        varied_before: claim.varied_before,
    }
}

/// Claims by groups of settings: the share of settings in which a claim is in its band.
fn map(result: &InferenceResult) -> HeatMap {
    let screened = &result.screened;
    let size = screened.len().div_ceil(GROUPS).max(1);
    let groups: Vec<_> = screened.chunks(size).collect();
    let mut columns = vec!["default".to_owned(), "inferred".to_owned()];
    columns.extend((1..=groups.len()).map(|i| i.to_string()));
    let mut order: Vec<usize> = (0..result.claims.len()).collect();
    let holds = |i: usize| {
        let held = screened.iter().filter(|s| s.in_band.as_bytes().get(i) == Some(&b'1')).count();
        std::cmp::Reverse(held)
    };
    order.sort_by_key(|i| (std::cmp::Reverse(result.claims[*i].side), holds(*i)));
    let mut rows = Vec::new();
    let mut cells = Vec::new();
    for i in order {
        let claim = &result.claims[i];
        let mark = if claim.side == ClaimSide::HeldBack { " (held back)" } else { "" };
        rows.push(format!("{}{mark}", claim.id));
        for verdict in [claim.defaults.verdict, claim.inferred.verdict] {
            cells.push(Some(match verdict {
                ClaimVerdict::Reproduced => 1.0,
                ClaimVerdict::Undecided => 0.5,
                ClaimVerdict::Direction | ClaimVerdict::NotReproduced => 0.0,
            }));
        }
        for group in &groups {
            let held = group.iter().filter(|s| s.in_band.as_bytes().get(i) == Some(&b'1')).count();
            cells.push(Some(held as f64 / group.len().max(1) as f64));
        }
    }
    let intervals = vec![None; cells.len()];
    HeatMap {
        id: format!("{}-claims-by-settings", result.paper),
        title: "Share of settings in which a claim is in its band".to_owned(),
        caption: format!(
            "Default: our defaults; inferred: the inferred setting (1 reproduced, 0.5 undecided, 0 \
             not). 1 to {}: all {} settings with one seed, by loss of the fitted claims, the least \
             first. So fitted claims hold more often on the left by construction; those held back \
             show whether the order means anything. They are marked and come first.",
            groups.len(),
            screened.len()
        ),
        axes: ["claim".to_owned(), "settings".to_owned()],
        scale: ColorScale::Sequential { low: 0.0, high: 1.0, warm: false },
        grids: vec![HeatGrid { title: String::new(), rows, columns, cells, intervals }],
    }
}
