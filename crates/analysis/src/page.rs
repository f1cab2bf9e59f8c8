//! The analysis as one self-contained HTML page.

use std::io::Read;

use lowtide_charts::{Chart, FigureFiles, page};
use minijinja::context;
use minijinja::value::Value;

use super::connection::ConnectionReport;
use super::direction_state::AnalysisSettings;
use super::plot::stack;
use super::table::ConnectionTable;
use super::{Analysis, read, text};
use crate::error::AnalysisError;

/// Connections with plots.
const MAX_DRAWN: usize = 12;
/// Connections on the page; the JSON has all.
const MAX_LISTED: usize = 500;
/// The smaller direction is drawn if it has at least one of this many bytes.
const LESSER: u64 = 20;

/// The page and its figures as separate files.
#[derive(Clone, Debug)]
pub struct Page {
    /// The page, HTML.
    pub html: String,
    /// Names and contents: SVG and CSV.
    pub figures: Vec<(String, String)>,
}

impl Page {
    /// Draws `analysis`; `stream` is its capture, from the beginning.
    ///
    /// # Errors
    /// The capture cannot be read again, or a figure cannot be drawn.
    pub fn of(analysis: &Analysis, stream: impl Read) -> Result<Self, AnalysisError> {
        let drawn: Vec<usize> = analysis.flows.iter().take(MAX_DRAWN).map(|c| c.flow).collect();
        let (gain, rto_min) = (analysis.gain, analysis.rto_min_ns);
        let mut table = ConnectionTable::new(
            AnalysisSettings { gain, rto_min, series: false, traced: false },
            drawn.clone(),
        );
        read::read_into(stream, &mut table)?;
        let mut figures = Vec::new();
        let mut sections = Vec::new();
        for c in analysis.flows.iter().take(MAX_LISTED) {
            let mut shown = Vec::new();
            if drawn.contains(&c.flow) {
                for figure in draw(c, &table, analysis.gain)? {
                    figures.push((format!("{}.svg", figure.id), figure.svg.clone()));
                    figures.push((format!("{}.csv", figure.id), figure.csv.clone()));
                    let file = format!("figures/{}.csv", figure.id);
                    shown.push(page::figure(&figure, Some(&file)));
                }
            }
            sections.push(section(c, shown));
        }
        let values = context! {
            file => analysis.file.as_str(),
            answer => analysis.answer.as_str(),
            lead => analysis.lead(),
            remarks => analysis.remarks(),
            sections,
            unlisted => analysis.selected.saturating_sub(MAX_LISTED.min(analysis.flows.len())),
            undrawn => analysis.flows.len().saturating_sub(drawn.len()),
            version => env!("CARGO_PKG_VERSION"),
        };
        Ok(Self { html: page::fill(include_str!("page.html"), &values)?, figures })
    }
}

fn draw(
    c: &ConnectionReport,
    table: &ConnectionTable,
    gain: f64,
) -> Result<Vec<FigureFiles>, AnalysisError> {
    let Some(views) = table.flows.get(c.flow) else { return Ok(Vec::new()) };
    let flow = views.selected().flow;
    let most = c.directions.first().map_or(0, |d| d.bytes);
    let large = c.directions.iter().filter(|d| d.bytes.saturating_mul(LESSER) >= most);
    let large: Vec<_> = large.collect();
    let mut out = Vec::new();
    for d in &large {
        let from = usize::from(flow.endpoints[0].to_string() != d.from);
        if let Some(stack) = stack(c, d, (flow, from), gain, large.len() == 1) {
            out.push(FigureFiles::of_chart(&Chart::Lanes(stack))?);
        }
    }
    Ok(out)
}

fn section(c: &ConnectionReport, figures: Vec<Value>) -> Value {
    let findings: Vec<Value> = c
        .findings
        .iter()
        .map(|f| {
            let both = c.directions.len() > 1;
            context! {
                severity => text::severity(f.severity),
                from => f.from.as_deref().filter(|_| both),
                what => f.what.as_str(),
                means => f.means.as_str(),
                filter => f.filter.as_str(),
            }
        })
        .collect();
    let directions: Vec<Value> = c
        .directions
        .iter()
        .map(|d| context! { from => d.from.as_str(), to => d.to.as_str(), rows => text::numbers(c, d) })
        .collect();
    context! {
        flow => c.flow,
        client => c.client.as_str(),
        server => c.server.as_str(),
        facts => text::facts(c),
        answer => c.answer.text.as_str(),
        findings,
        directions,
        figures,
    }
}
