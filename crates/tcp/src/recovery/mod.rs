//! Loss recovery: what is lost, what to send again, and when an episode begins and ends.

mod dsack;
mod episode;
mod prr;
mod rack;
mod scoreboard;
mod tlp;
mod undo;

pub(crate) use dsack::is_dsack;
pub(crate) use episode::{Episode, Phase};
pub(crate) use prr::{Prr, Step};
pub(crate) use rack::{Arrivals, Path, Rack, Sending};
#[cfg(test)]
pub(crate) use scoreboard::take_steps;
pub(crate) use scoreboard::{Acked, InOrder, Scoreboard, Sent};
pub(crate) use tlp::{ProbeAck, Tlp};
#[cfg(test)]
pub(crate) use undo::MOST_VISITED;
pub(crate) use undo::{Answer, Eifel};
