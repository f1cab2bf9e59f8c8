//! Text that leaves the program: one escaping function for each format, and the standard streams.
//!
//! Contract: a text of a user or a stranger (names, titles, arguments, paths) enters a generated
//! file or a terminal through the function of that format only. HTML is written by minijinja, TOML
//! by `toml`, SVG by plotters; these escape by themselves. No output stream causes a panic.

pub mod comment;
pub mod control;
pub mod csv;
pub mod json;
pub mod latex;
pub mod markdown;
pub mod shell;
pub mod streams;
pub mod systemd;
pub mod terminal;
