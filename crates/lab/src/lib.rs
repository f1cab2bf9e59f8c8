//! Ties a scenario to a backend; statistics; figures and the report.

pub mod figure;
pub mod report;
pub mod view;
