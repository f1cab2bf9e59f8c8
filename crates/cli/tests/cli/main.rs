//! The command as a user sees it, and the workspace. Tests that need root are in `tests/privileged`.

mod analyze;
mod layers;
mod matrix;
mod messages;
mod modules;
mod packetdrill;
mod questions;
mod ran;
mod runs;
