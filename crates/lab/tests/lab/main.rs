//! Tests from scenario files to tables and reports, in one binary to link only once.

mod analyze;
mod censored;
mod common;
mod compare_multi;
mod concurrent_sessions;
mod diff;
mod fabric;
mod figure_limits;
mod flows;
mod open_loop;
mod parts;
mod question;
mod session;
mod sharing;
mod slowdown;
