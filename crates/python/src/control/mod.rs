//! Congestion controls that are classes in Python.
//!
//! Contract: a class is registered as any other control, so scenario files know its name. Its
//! parameter `code` is a digest of its code and has one value, so the hash of every run that uses
//! the class covers the code. The first exception of a hook ends the runs of its [`RunGuard`].

mod classes;
mod conformance;
mod declaration;
mod facts;
mod guard;
mod python_control;
mod registered;
mod values;

pub(crate) use conformance::check_control;
pub(crate) use declaration::default_value;
pub(crate) use facts::{AckSample, CcSetup, IdleRestart, Loss, Recovered, Rto, Undo};
pub(crate) use guard::RunGuard;
pub(crate) use registered::{RunningControls, register_control};
