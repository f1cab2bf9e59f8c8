//! Analysis of the transports in a capture: `lowtide analyze`.
//!
//! Contract: reads the file once, with bounded memory per connection (a second time for plots).
//! Unknown facts are null, `unknown` or `undecided`, never guessed; skipped packets are counted. A
//! damaged file is analysed as far as it can be read. No file causes a panic.
//!
//! `capture` reads the file, `tunnels` counts the tunnels of its segments. `table` finds the
//! connection of a packet, `views` the interface, and `copies` repeated captures of a packet.
//! `flow` and `direction_state` process it; `stream`, `rtt`, `ecn_echo`, `alpha`, `window` and
//! `stalls` each measure one aspect of a direction. `direction` and `connection` are the reports,
//! `visibility` states what the capture cannot show, `feedback`, `sender` and `findings`
//! interpret. `text`,
//! `plot` and `page` render.

mod alpha;
mod answer;
mod budget;
pub mod capture;
mod condition;
mod connection;
mod copies;
mod direction;
mod direction_state;
mod direction_states;
mod ecn_echo;
mod error;
mod evidence;
mod feedback;
mod finding;
mod findings;
mod flow;
mod format;
mod handshake;
mod packet_ids;
mod page;
pub mod pair;
mod plot;
mod read;
mod rounds;
mod rtt;
mod sender;
mod series;
mod socket_comparison;
mod socket_statistics;
mod stalls;
mod stream;
mod table;
mod text;
mod timeline;
mod trace;
mod transfer_answer;
mod tunnels;
mod value_summary;
mod views;
mod visibility;
mod window;

use std::io::Read;

use serde::Serialize;

pub use budget::{State, StateShare, TimeBudget, shares_text};
pub use condition::Condition;
pub use error::AnalysisError;
pub use page::Page;
pub use read::{Contents, InterfaceSummary, Skipped, SkippedName};
pub use socket_statistics::SocketStatistics;
pub use tunnels::{TunnelEcn, TunnelSummary};

use connection::ConnectionReport;
use direction_state::AnalysisSettings;
use table::ConnectionTable;
use visibility::CaptureFacts;

/// Options of an analysis.
#[derive(Clone, Debug)]
pub struct AnalysisOptions {
    /// Selected connections: a number, or an address, a port, or both (`10.0.0.1:80`) of either
    /// end. All connections if empty.
    pub flows: Vec<String>,
    /// Conditions that a connection meets, all of them.
    pub conditions: Vec<Condition>,
    /// Number of connections that are reported, the worst ones; causes are of all selected.
    pub top: Option<usize>,
    /// The report has values over time, at most 256 points of each.
    pub series: bool,
    /// g of alpha, above 0 and at most 1 (RFC 8257 §3.3).
    pub gain: f64,
    /// Minimum retransmission timeout of the senders' stacks, nanoseconds. Silences below nine
    /// tenths of it are not timeouts.
    pub rto_min_ns: u64,
    /// Output of `ss` beside the capture.
    pub sockets: Option<SocketStatistics>,
}

impl Default for AnalysisOptions {
    fn default() -> Self {
        Self {
            flows: Vec::new(),
            conditions: Vec::new(),
            top: None,
            series: false,
            gain: alpha::GAIN,
            rto_min_ns: stalls::RTO_MIN_NS,
            sockets: None,
        }
    }
}

/// Result of the analysis of a capture.
#[derive(Clone, Debug, Serialize)]
pub struct Analysis {
    /// The answer of the first connection.
    answer: String,
    file: String,
    contents: Contents,
    gain: f64,
    rto_min_ns: u64,
    /// Connections of the capture, including those that were not selected.
    connections: usize,
    /// Connections that were selected; `flows` has the first ones.
    selected: usize,
    /// Time lost over all selected connections, the greatest first.
    causes: Vec<CauseTotal>,
    /// Sockets of `ss` that are not in the capture.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    absent_sockets: Vec<String>,
    flows: Vec<ConnectionReport>,
}

/// Time lost by one cause over all connections.
#[derive(Clone, Debug, Serialize)]
struct CauseTotal {
    kind: &'static str,
    connections: u64,
    ns: u64,
}

impl Analysis {
    /// Analyses the capture `stream`, which is called `name`.
    ///
    /// # Errors
    /// The stream is no capture, nothing of it can be read, or no connection matches the selection.
    pub fn of(
        name: &str,
        stream: impl Read,
        options: &AnalysisOptions,
    ) -> Result<Self, AnalysisError> {
        let settings = AnalysisSettings {
            gain: options.gain,
            rto_min: options.rto_min_ns,
            series: options.series,
            traced: false,
        };
        let mut table = ConnectionTable::new(settings, Vec::new());
        let contents = read::read_into(stream, &mut table)?;
        let connections = table.flows.len();
        let facts = CaptureFacts {
            interfaces: contents.file_interfaces.clone(),
            end_ns: contents.span_ns,
            two_way: table.flows.iter().any(|v| v.merged.sent.iter().all(|n| *n > 0)),
            only_syns: contents.non_syn_segments == 0,
        };
        let mut ends = Vec::new();
        // Each is freed once its report is made.
        let all = table.flows.into_iter().enumerate().map(|(i, views)| {
            let mut connection = ConnectionReport::of(i, &views, &facts, options.series);
            if let Some(sockets) = &options.sockets {
                ends.push(views.merged.endpoints.into());
                connection.add_sockets(sockets);
            }
            let findings = findings::of(&connection, &facts);
            connection.with_findings(findings)
        });
        let wanted = |c: &ConnectionReport| {
            (options.flows.is_empty() || options.flows.iter().any(|f| matches_selector(c, f)))
                && options.conditions.iter().all(|condition| condition.holds(c))
        };
        let mut flows: Vec<ConnectionReport> = all.filter(wanted).collect();
        let asked = !options.flows.is_empty() || !options.conditions.is_empty();
        if flows.is_empty() && asked {
            let conditions = options.conditions.iter().map(ToString::to_string);
            let flows = Some(options.flows.join(" or ")).filter(|f| !f.is_empty());
            let all = flows.into_iter().chain(conditions).collect::<Vec<_>>().join(" and ");
            let message = format!("no connection of the capture is {all}");
            let help = format!(
                "it has {connections}, numbered from 0; `lowtide analyze {}` lists them",
                lowtide_output::shell::word(name)
            );
            return Err(AnalysisError::NotFound { message, help: Some(help) });
        }
        // The one that lost the most time first, then the most severe, then the largest.
        flows.sort_by_key(|c| {
            let severity = c.findings.first().map_or(3, |f| f.severity as u8);
            (u64::MAX - c.answer.lost_ns(), severity, u64::MAX - c.bytes(), c.flow)
        });
        let mut causes: Vec<CauseTotal> = Vec::new();
        for cause in flows.iter().flat_map(|c| &c.answer.causes) {
            if let Some(total) = causes.iter_mut().find(|t| t.kind == cause.kind) {
                (total.connections, total.ns) = (total.connections + 1, total.ns + cause.ns);
            } else {
                causes.push(CauseTotal { kind: cause.kind, connections: 1, ns: cause.ns });
            }
        }
        causes.sort_by_key(|t| std::cmp::Reverse(t.ns));
        let selected = flows.len();
        flows.truncate(options.top.unwrap_or(selected));
        let answer = match flows.first() {
            Some(first) if selected > 1 => {
                format!("flow {} of {selected}: {}", first.flow, first.answer.text)
            }
            Some(first) => first.answer.text.clone(),
            None => format!("undetermined: no TCP in {} packets", contents.packets),
        };
        let absent_sockets = options.sockets.as_ref().map(|s| s.absent(&ends)).unwrap_or_default();
        let (file, gain, rto_min_ns) = (name.to_owned(), options.gain, options.rto_min_ns);
        Ok(Self {
            answer,
            file,
            contents,
            gain,
            rto_min_ns,
            connections,
            selected,
            causes,
            absent_sockets,
            flows,
        })
    }

    /// Returns the reason why the file could not be read to its end, if any.
    pub fn broken(&self) -> Option<&str> {
        self.contents.broken.as_deref()
    }
}

/// Returns whether `text` selects the connection.
fn matches_selector(c: &ConnectionReport, text: &str) -> bool {
    if let Ok(number) = text.parse::<usize>() {
        return c.flow == number;
    }
    [&c.client, &c.server].into_iter().any(|end| {
        let (host, port) = end.rsplit_once(':').unwrap_or((end, ""));
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        text == end || text == host || text == bare || text.strip_prefix(':') == Some(port)
    })
}
