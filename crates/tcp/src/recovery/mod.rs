//! Loss recovery: what is lost, what to send again, and when an episode begins and ends.

mod episode;
mod scoreboard;

pub(crate) use episode::{Episode, Phase};
pub(crate) use scoreboard::{Acked, Scoreboard, Sent};
