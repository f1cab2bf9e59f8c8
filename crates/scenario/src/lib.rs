//! The scenario file: an experiment as data.
//!
//! Contract: reads, completes and checks; runs nothing. A file, its overrides and its sweep become
//! a [`RunPlan`] of [`RunSpec`]s, each of which gives a complete [`lowtide_host::Setup`]. Otherwise
//! they become [`ScenarioErrors`] with location and remedy. No input makes it panic. The format is
//! described in `docs/reference/scenario.md`.

mod bundle_overrides;
mod changed_text;
mod check;
mod deployment;
mod description;
mod diagnostics;
mod embedded;
mod emit;
mod error;
mod estimate;
mod files;
mod flows;
mod hosts;
mod key_path;
mod key_titles;
mod keys;
mod known_names;
mod model;
mod network;
mod pattern;
mod plan;
mod printable;
mod range;
mod reader;
mod replaced;
mod row_estimate;
mod run;
mod run_config;
mod scenario;
mod schema;
mod settings;
mod sharing;
mod sweep;
mod table_spec;
mod tables;
mod toml_tree;
mod toml_writer;
mod topology_keys;
mod transport_config;
mod value;

pub use description::{KeyDescription, TableDescription, table_descriptions};
pub use embedded::{EmbeddedScenario, TEMPLATES, Template, embedded_scenarios, template};
pub use error::{ScenarioError, ScenarioErrors, nearest};
pub use estimate::{CostCause, Estimate, HOPS_PER_SECOND};
pub use files::{Directory, Files, NoFiles};
pub use flows::resolve as resolve_flows;
pub use key_titles::{KeyTitle, key_title};
pub use model::{HostDraw, MovedSides};
pub use pattern::glob_matches;
pub use plan::{PlanPart, RunPlan};
pub use replaced::ReplacedSwitch;
pub use run::RunSpec;
pub use scenario::Scenario;
pub use schema::json_schema;
pub use sharing::{SharedRuns, SharingReason};
