//! The native part of the Python package `lowtide`; `python/lowtide` has the classes that users
//! see.
//!
//! Contract: long work releases the GIL, uses all CPUs and ends at Ctrl-C. Errors are exceptions of
//! `lowtide.errors`. Structured results cross as JSON text, tables as Arrow streams.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 passes arguments by value")]

mod command;
mod connection;
mod control;
mod exception;
mod experiment;
mod figure;
mod interrupt;
mod json;
mod names;
mod plan;
mod run;
mod scenario;
mod table;

use pyo3::pymodule;

/// Native part of the package `lowtide`; use that one.
#[pymodule]
mod _lowtide {
    #[pymodule_export]
    use crate::command::main;
    #[pymodule_export]
    use crate::connection::{Connection, ConnectionInfo, Segment};
    #[pymodule_export]
    use crate::control::{
        AckSample, CcSetup, IdleRestart, Loss, Recovered, Rto, Undo, check_control, default_value,
        register_control,
    };
    #[pymodule_export]
    use crate::experiment::{Experiment, load};
    #[pymodule_export]
    use crate::names::{program, scenarios, schemes, version};
    #[pymodule_export]
    use crate::plan::{Plan, merge};
    #[pymodule_export]
    use crate::run::run;
    #[pymodule_export]
    use crate::scenario::Scenario;
}
