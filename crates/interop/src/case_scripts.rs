//! The scripts that both ends of a case execute.

use crate::cases::{Case, ExchangeKind};
use crate::script::{EndpointScript, OpenMode};
use crate::testnet::{OURS, PEER, PEER_TUN, listener};

/// Port of the listener, and a port without a listener.
pub(crate) const PORT: u16 = 5201;
const CLOSED_PORT: u16 = 5202;
/// Time limit of a connection, seconds.
pub(crate) const LIMIT_S: u64 = 120;
/// Scripts of our end and of the peer.
pub(crate) fn scripts(case: &Case) -> (EndpointScript, EndpointScript) {
    let (v6, bytes) = (case.condition.v6, case.condition.bytes);
    let [up, down] = match case.exchange {
        ExchangeKind::Up | ExchangeKind::ResetByPeer => [bytes, 0],
        ExchangeKind::Down | ExchangeKind::ResetByOurs => [0, bytes],
        ExchangeKind::Both | ExchangeKind::HalfCloseUp | ExchangeKind::HalfCloseDown => {
            [bytes, bytes]
        }
        ExchangeKind::Refused => [0, 0],
    };
    // A peer that must refuse listens on another port than the one we open.
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
