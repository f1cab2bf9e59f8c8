//! Loss recovery: what is lost, what to send again, and when an episode begins and ends.

mod episode;
mod scoreboard;
mod undo;

pub(crate) use episode::{Episode, Phase};
pub(crate) use scoreboard::{Acked, Scoreboard, Sent};
pub(crate) use undo::{Answer, Eifel};
