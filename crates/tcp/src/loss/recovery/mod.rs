//! Loss recovery: detection of losses, retransmission, start and end of episodes.

mod dsack;
mod episode;
mod ext;
mod frto;
mod prr;
mod rack;
mod scoreboard;
mod send_order;
mod tlp;
mod undo;

pub(crate) use dsack::is_dsack;
pub(crate) use episode::{Episode, RecoveryPhase};
pub(crate) use ext::RecoveryExt;
pub(crate) use frto::FRtoAck;
pub(crate) use prr::{Prr, PrrAck};
pub(crate) use rack::{Rack, RackSample, ReoWndInput};
#[cfg(test)]
pub(crate) use scoreboard::take_visits;
pub(crate) use scoreboard::{Acked, InOrderAck, Lost, Scoreboard, TxSegment};
pub(crate) use send_order::SendOrder;
pub(crate) use tlp::{ProbeAck, Tlp};
#[cfg(test)]
pub(crate) use undo::MAX_VISITED;
pub(crate) use undo::{Eifel, EifelAck, EifelVerdict};
