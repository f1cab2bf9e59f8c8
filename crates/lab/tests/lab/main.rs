//! Scenarios from the file to tables and reports: one binary, so that it is linked once.

mod advice;
mod analyze;
mod captures;
mod censored;
mod claims;
mod columns;
mod common;
mod diff;
mod fabric;
mod flows;
mod matrix;
mod scorecard;
mod session;
mod share;
mod slowdown;
mod tasks;
