//! Runs one case and checks its result.

use std::io;
use std::path::Path;
use std::time::Duration;

use lowtide_live::{Clock, Live, Stream, config};
use lowtide_tcp::Config;

use crate::case_scripts::{LIMIT_S, PORT, scripts};
use crate::cases::{Case, ExchangeKind};
use crate::exchange::{error_name, perform};
use crate::peers::{Peer, PeerProgram};
use crate::script::{EndpointReport, EndpointScript};
use crate::testnet::{PEER, PeerProcess, TestnetError, bottleneck, our_end};
use crate::verify::{self, Evidence};

/// Timeout of an idle call: a peer that loses several packets doubles its RTO as often.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum wait for the peer's report; the peer gives up earlier.
const REPORT_TIMEOUT: Duration = Duration::from_secs(LIMIT_S + 5);
/// Maximum time for our connection to close after the application has closed it.
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Outcome of one case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CaseOutcome {
    /// It passed.
    Pass,
    /// It failed, with the reason.
    Fail(String),
    /// It failed by a known defect of the peer.
    Known(String),
    /// It was skipped, with the reason.
    Skip(String),
}

/// Result of one case against one peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaseResult {
    /// Name of the peer.
    pub peer: String,
    /// Name of the condition.
    pub condition: String,
    /// Name of the case.
    pub case: String,
    /// Outcome.
    pub outcome: CaseOutcome,
    /// Duration, milliseconds.
    pub took_ms: u64,
}

impl CaseResult {
    /// Creates the result of `case`.
    pub fn of(peer: Peer, case: &Case, outcome: CaseOutcome, took_ms: u64) -> Self {
        let condition = case.condition.name.to_owned();
        Self { peer: peer.to_string(), condition, case: case.to_string(), outcome, took_ms }
    }
}

/// Runs `case` against `program`. Packets of both interfaces go to `captures`.
pub fn run(peer: Peer, program: &PeerProgram, case: &Case, captures: Option<&Path>) -> CaseResult {
    let clock = Clock::start();
    let outcome = match attempt(peer, program, case, captures) {
        Ok(evidence) => {
            let wrong = verify::verify(peer, case, &evidence);
            match verify::known_defect(peer, case, &evidence) {
                _ if wrong.is_empty() => CaseOutcome::Pass,
                Some(defect) => CaseOutcome::Known(defect.to_owned()),
                None => CaseOutcome::Fail(wrong.join("; ")),
            }
        }
        Err(error) => CaseOutcome::Fail(error.to_string()),
    };
    let took_ms = clock.now().since_start().as_ns() / 1_000_000;
    CaseResult::of(peer, case, outcome, took_ms)
}

fn attempt(
    peer: Peer,
    program: &PeerProgram,
    case: &Case,
    captures: Option<&Path>,
) -> Result<Evidence, TestnetError> {
    let (script, peer_script) = scripts(case);
    let setting = case.condition;
    let config = config(setting.profile, None, setting.ours).map_err(TestnetError::Peer)?;
    let ecn = [("ipv4.tcp_ecn", if setting.ecn { "1" } else { "2" })];
    let file = |end: &str| captures.map(|folder| folder.join(format!("{peer}-{case}-{end}")));
    let (live, at_ours, _namespace) = our_end(case.seed())?;
    let mut process = PeerProcess::start(program, &peer_script, &ecn)?;
    let at_peer = process.take_device();
    let at_peer = at_peer.ok_or_else(|| TestnetError::Peer("has no interface".to_owned()))?;
    let captures = [file("ours.pcapng"), file("peer.pcapng")];
    let between = bottleneck((at_ours, at_peer), setting.faults, case.seed(), captures)?;
    let (ours, stream, peers) = connection(&live, &config, &script, &mut process, case);
    let sent = || between.report().hosts.get(PEER.0 as usize).map(|h| h.sent);
    let before = sent();
    let left = wait_for_close(&live);
    let owes_nothing = stream.as_ref().is_some_and(|s| s.unacknowledged() == 0);
    let peer_stalled = left > 0 && owes_nothing && sent() == before;
    // Read here, because applications finish before the last bytes are acknowledged.
    let info = stream.as_ref().and_then(Stream::info).map(|i| i.tcp);
    drop(stream);
    let stats = live.stats();
    // Stopped first, because our interface goes away with our end.
    let report = between.stop()?;
    drop(live);
    let peer = match peers {
        Some(Ok(account)) => Some(account),
        Some(Err(error)) => Some(EndpointReport::failed(error.to_string())),
        None => None,
    };
    Ok(Evidence { ours, peer, info, stats, open_connections: left, peer_stalled, report })
}

/// Both ends execute their scripts. The peer's report is `None` if none is expected.
fn connection(
    live: &Live,
    config: &Config,
    script: &EndpointScript,
    process: &mut PeerProcess,
    case: &Case,
) -> (EndpointReport, Option<Stream>, Option<Result<EndpointReport, TestnetError>>) {
    let limit = Duration::from_secs(LIMIT_S);
    let refused = case.exchange == ExchangeKind::Refused;
    if case.active {
        let opened = process.go().and_then(|()| process.wait_ready());
        if let Err(error) = opened {
            return (EndpointReport::failed("not tried"), None, Some(Err(error)));
        }
        let (account, stream) = match connect(live, config, script) {
            Ok(stream) => (perform(&stream, script), Some(stream)),
            Err(error) => (EndpointReport::failed(error_name(&error)), None),
        };
        let peers = (!refused).then(|| process.report(REPORT_TIMEOUT));
        return (account, stream, peers);
    }
    // Either our end does not listen, or it accepts one connection.
    let listening = (!refused).then(|| live.listen(PORT, config));
    if let Err(error) = process.go() {
        return (EndpointReport::failed("not tried"), None, Some(Err(error)));
    }
    let (account, stream) = match listening {
        None => (EndpointReport::failed("refused"), None),
        Some(Err(error)) => (EndpointReport::failed(error_name(&error)), None),
        Some(Ok(listener)) => match listener.accept_within(limit) {
            Ok((stream, _)) => {
                stream.set_timeout(Some(IDLE_TIMEOUT));
                (perform(&stream, script), Some(stream))
            }
            Err(error) => (EndpointReport::failed(error_name(&error)), None),
        },
    };
    (account, stream, Some(process.report(REPORT_TIMEOUT)))
}

fn connect(live: &Live, config: &Config, script: &EndpointScript) -> io::Result<Stream> {
    let stream = live.begin_connect(script.remote, config)?;
    stream.set_timeout(Some(IDLE_TIMEOUT));
    stream.finish_connect()?;
    Ok(stream)
}

/// Waits until our connections are closed or in TIME-WAIT; returns the number left after
/// [`CLOSE_TIMEOUT`].
fn wait_for_close(live: &Live) -> u64 {
    let step = Duration::from_millis(5);
    let mut waited = Duration::ZERO;
    loop {
        let left = live.stats().packets.connections;
        if left == 0 || waited >= CLOSE_TIMEOUT {
            return left;
        }
        std::thread::sleep(step);
        waited += step;
    }
}
