//! What a transport did, from a capture: `lowtide analyze`.
//!
//! Contract: one pass over the file in bounded memory per connection (a second one over the same
//! file for plots). What cannot be told is null, `unknown` or `undecided`, never guessed; what was
//! left out is counted. A file that is damaged is told of as far as it could be read. Nothing in a
//! file panics.
//!
//! `table` finds the connection of a packet, `views` the interface, `copies` what was captured
//! twice; `flow` and `half` take it in, `stream`, `delay`, `echo`, `alpha`, `window` and `stalls`
//! each answer one question about a direction; `direction` and `connection` are what is told,
//! `visible` what the capture cannot show, `feedback` and `findings` what it means, `text`, `plot`
//! and `page` how it is shown.

mod alpha;
mod connection;
mod copies;
mod direction;
mod direction_state;
mod direction_states;
mod ecn_echo;
mod feedback;
mod finding;
mod findings;
mod flow;
mod format;
mod handshake;
mod histogram;
mod page;
mod plot;
mod read;
mod rtt;
mod series;
mod stalls;
mod stream;
mod table;
mod text;
mod trace;
mod views;
mod visibility;
mod window;

use std::io::Read;

use serde::Serialize;

pub use page::Page;
pub use read::{Contents, InterfaceSummary, Skipped};

use connection::ConnectionReport;
use direction_state::AnalysisSettings;
use table::ConnectionTable;
use visibility::CaptureFacts;

use crate::error::LabError;

/// What is asked about a capture.
#[derive(Clone, Debug)]
pub struct AnalysisOptions {
    /// Only these connections: a number, or an address, a port, or both (`10.0.0.1:80`) of either end. All of
    /// them without any.
    pub flows: Vec<String>,
    /// g of alpha, above 0 and at most 1 (RFC 8257 §3.3).
    pub gain: f64,
    /// Least retransmission timeout of the senders' stacks, nanoseconds: nothing shorter than nine
    /// tenths of it is called a timeout.
    pub rto_min_ns: u64,
}

impl Default for AnalysisOptions {
    fn default() -> Self {
        Self { flows: Vec::new(), gain: alpha::GAIN, rto_min_ns: stalls::RTO_MIN_NS }
    }
}

/// What was found in a capture.
#[derive(Clone, Debug, Serialize)]
pub struct Analysis {
    file: String,
    contents: Contents,
    gain: f64,
    rto_min_ns: u64,
    /// Connections of the capture; those that were not asked for are not told of.
    connections: usize,
    flows: Vec<ConnectionReport>,
}

impl Analysis {
    /// Analyses the capture that `stream` holds, called `name`.
    ///
    /// # Errors
    /// It is no capture, nothing could be read of it, or it has no connection that was asked for.
    pub fn of(name: &str, stream: impl Read, question: &AnalysisOptions) -> Result<Self, LabError> {
        let settings =
            AnalysisSettings { gain: question.gain, rto_min: question.rto_min_ns, traced: false };
        let mut table = ConnectionTable::new(settings, Vec::new());
        let contents = read::read_into(stream, &mut table)?;
        let connections = table.flows.len();
        let scene = CaptureFacts {
            interfaces: contents.file_interfaces.clone(),
            end_ns: contents.span_ns,
            two_way: table.flows.iter().any(|v| v.merged.sent.iter().all(|n| *n > 0)),
            only_syns: contents.non_syn_segments == 0,
        };
        // Each is given up once it is told of.
        let all = table.flows.into_iter().enumerate().map(|(i, views)| {
            let connection = ConnectionReport::of(i, &views, &scene);
            let findings = findings::of(&connection, &scene);
            connection.with_findings(findings)
        });
        let wanted = |c: &ConnectionReport| {
            question.flows.is_empty() || question.flows.iter().any(|f| matches_selector(c, f))
        };
        let mut flows: Vec<ConnectionReport> = all.filter(wanted).collect();
        if flows.is_empty() && !question.flows.is_empty() {
            let message =
                format!("no connection of the capture is {}", question.flows.join(" or "));
            let help = format!(
                "it has {connections}, numbered from 0; `lowtide analyze {name}` lists them"
            );
            return Err(LabError::NotFound { message, help: Some(help) });
        }
        // The worst first, then the largest.
        flows.sort_by_key(|c| (c.findings.first().map(|f| f.weight), u64::MAX - c.bytes(), c.flow));
        flows.sort_by_key(|c| c.findings.is_empty());
        let (file, gain, rto_min_ns) = (name.to_owned(), question.gain, question.rto_min_ns);
        Ok(Self { file, contents, gain, rto_min_ns, connections, flows })
    }

    /// How the file ended, if not as it should.
    pub fn broken(&self) -> Option<&str> {
        self.contents.broken.as_deref()
    }
}

/// The connection is what `text` names.
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
