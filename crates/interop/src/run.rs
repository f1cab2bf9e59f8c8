//! Runs one case and judges it.

use std::io;
use std::path::Path;
use std::time::Duration;

use lowtide_bottleneck::BottleneckReport;
use lowtide_live::{Clock, Live, LiveStats, Stream, config};
use lowtide_tcp::{Config, Info};
use serde::{Deserialize, Serialize};

use crate::cases::{Case, ExchangeKind};
use crate::exchange::{error_name, perform};
use crate::peers::{Peer, PeerProgram};
use crate::script::{EndpointReport, EndpointScript, OpenMode};
use crate::testnet::{
    OURS, PEER, PEER_TUN, PeerProcess, TestnetError, bottleneck, listener, our_end,
};
use crate::verify;

/// The port of the listener, and one on which nobody listens.
const PORT: u16 = 5201;
const CLOSED_PORT: u16 = 5202;
/// The longest that a connection may take, seconds.
const LIMIT_S: u64 = 120;
/// How long a call of ours waits while nothing happens at all: a peer that lost a packet often doubles its timeout as often.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);
/// How long the runner waits for the report of the peer, which gives up earlier by itself.
const REPORT_TIMEOUT: Duration = Duration::from_secs(LIMIT_S + 5);
/// How long our side of a connection may take to end after the application is done.
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The outcome of one case.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaseOutcome {
    /// It went as it should.
    Pass,
    /// It did not: why.
    Fail(String),
    /// It did not, by a known defect of the peer.
    Known(String),
    /// It was not tried: why.
    Skip(String),
}

/// One case against one peer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CaseResult {
    /// Name of the peer.
    pub peer: String,
    /// Name of the condition.
    pub condition: String,
    /// Name of the case.
    pub case: String,
    /// What became of it.
    pub outcome: CaseOutcome,
    /// Milliseconds that it took.
    pub took_ms: u64,
}

impl CaseResult {
    /// A result of `case`.
    pub fn of(peer: Peer, case: &Case, outcome: CaseOutcome, took_ms: u64) -> Self {
        let condition = case.condition.name.to_owned();
        Self { peer: peer.to_string(), condition, case: case.to_string(), outcome, took_ms }
    }
}

/// Everything that is known of a case after it.
#[derive(Debug)]
pub struct Evidence {
    /// Our end's report.
    pub ours: EndpointReport,
    /// The peer's; `None` where it takes no part.
    pub peer: Option<EndpointReport>,
    /// Our connection, where there was one.
    pub info: Option<Info>,
    /// Our packets.
    pub stats: LiveStats,
    /// Connections of ours that did not end in time.
    pub open_connections: u64,
    /// At the end the peer owed us data or FIN, we owed it nothing, and it sent nothing for [`CLOSE_TIMEOUT`].
    pub peer_stalled: bool,
    /// What happened between the two.
    pub report: BottleneckReport,
}

/// Runs `case` against `program`. The folder `captures` gets the packets of both interfaces, and the tape of our end.
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

/// The scripts of our end and of the peer.
pub fn scripts(case: &Case) -> (EndpointScript, EndpointScript) {
    let (v6, bytes) = (case.condition.v6, case.condition.bytes);
    let [up, down] = match case.exchange {
        ExchangeKind::Up | ExchangeKind::ResetByPeer => [bytes, 0],
        ExchangeKind::Down | ExchangeKind::ResetByOurs => [0, bytes],
        ExchangeKind::Both | ExchangeKind::HalfCloseUp | ExchangeKind::HalfCloseDown => {
            [bytes, bytes]
        }
        ExchangeKind::Refused => [0, 0],
    };
    // A peer that is to refuse listens on another port than that which we open.
    let at_peer = if case.exchange == ExchangeKind::Refused { CLOSED_PORT } else { PORT };
    let ours = EndpointScript {
        open: if case.active { OpenMode::Connect } else { OpenMode::Listen },
        tun: PEER_TUN.to_owned(),
        local: listener(OURS, v6, PORT),
        remote: listener(PEER, v6, at_peer),
        send: up,
        write: case.condition.write,
        seed: case.seed(),
        after_fin: case.exchange == ExchangeKind::HalfCloseDown,
        reset_at: if case.exchange == ExchangeKind::ResetByOurs { bytes / 4 } else { 0 },
        pause_ms: case.condition.pause_ms,
        window: 0,
        limit_s: LIMIT_S,
    };
    let peer = EndpointScript {
        open: if case.active { OpenMode::Listen } else { OpenMode::Connect },
        local: listener(PEER, v6, PORT),
        remote: listener(OURS, v6, PORT),
        send: down,
        seed: case.seed() + 1,
        after_fin: case.exchange == ExchangeKind::HalfCloseUp,
        reset_at: if case.exchange == ExchangeKind::ResetByPeer { bytes / 4 } else { 0 },
        window: case.condition.peer_window,
        ..ours.clone()
    };
    (ours, peer)
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
    let (live, at_ours, _namespace) = our_end(case.seed(), file("ours.tape"))?;
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
    // Only now: applications are done before the last bytes are acknowledged.
    let info = stream.as_ref().and_then(Stream::info).map(|i| i.tcp);
    drop(stream);
    let stats = live.stats();
    // First, because our interface goes with our end.
    let report = between.stop()?;
    drop(live);
    let peer = match peers {
        Some(Ok(account)) => Some(account),
        Some(Err(error)) => Some(EndpointReport::failed(error.to_string())),
        None => None,
    };
    Ok(Evidence { ours, peer, info, stats, open_connections: left, peer_stalled, report })
}

/// Both ends perform their scripts. The peer's report is `None` where nothing is expected of it.
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
    // Nobody listens at our end, or one connection is accepted.
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

/// Waits until no connection of ours is left, TIME-WAIT apart; how many are after [`CLOSE_TIMEOUT`].
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
