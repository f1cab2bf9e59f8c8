//! A control of one connection whose hooks are methods of a Python object.

use std::collections::BTreeMap;
use std::sync::Arc;

use lowtide_schema::Values;
use lowtide_tcp::cc::{AckSample, CcSetup, CongestionControl, CongestionEvent, Reaction};
use lowtide_units::{Probe, Rate, Unit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use pyo3::{IntoPyObjectExt, intern};

use super::declaration::CODE;
use super::guard::RunGuard;
use super::values::{q20, to_python, whole};
use super::{classes, facts};
use crate::exception;

/// After a failed hook nothing is called any more, and the window stays.
#[derive(Debug)]
pub(super) struct PythonControl {
    name: &'static str,
    /// `None` if it could not be made.
    object: Option<Py<PyAny>>,
    guard: Option<Arc<RunGuard>>,
    mss: u32,
    cwnd: u64,
    ssthresh: u64,
    pacing_rate: Option<Rate>,
    runs_by_the_clock: bool,
}

/// Builds the control of a connection: the `build` of every registered class.
pub(super) fn build(values: &Values, setup: &CcSetup) -> Box<dyn CongestionControl> {
    let mut control = PythonControl {
        name: "",
        object: None,
        guard: RunGuard::current(),
        mss: setup.mss,
        cwnd: setup.initial_window,
        ssthresh: u64::MAX,
        pacing_rate: None,
        runs_by_the_clock: false,
    };
    if control.is_failed() {
        return Box::new(control);
    }
    Python::attach(|py| {
        if let Err(error) = control.start(py, values, setup) {
            control.fail(py, error);
        }
    });
    Box::new(control)
}

impl PythonControl {
    fn start(&mut self, py: Python<'_>, values: &Values, setup: &CcSetup) -> PyResult<()> {
        let (class, name) = classes::class(py, values.name(CODE))?;
        self.name = name;
        let given = PyDict::new(py);
        for (name, value) in values.iter().filter(|(name, _)| *name != CODE) {
            given.set_item(name.replace('-', "_"), to_python(py, value)?)?;
        }
        let setup = facts::CcSetup::from(setup);
        let object = class.call_method1(intern!(py, "_made"), (setup, given))?;
        self.read(&object, "__init__")?;
        self.runs_by_the_clock = object.getattr(intern!(py, "runs_by_the_clock"))?.is_truthy()?;
        self.object = Some(object.unbind());
        Ok(())
    }

    fn is_failed(&self) -> bool {
        self.guard.as_ref().is_some_and(|guard| guard.is_stopped())
    }

    /// Ends the runs with `error`.
    fn fail(&self, py: Python<'_>, error: PyErr) {
        let note = format!("raised by the congestion control `{}`, which ended its run", self.name);
        // Python 3.10 has no notes.
        let _ = error.value(py).call_method1(intern!(py, "add_note"), (note,));
        match &self.guard {
            Some(guard) => guard.fail(error),
            None => error.write_unraisable(py, None),
        }
    }

    /// Calls a hook and reads the window that it leaves.
    fn call<'py>(
        &mut self,
        py: Python<'py>,
        hook: &Bound<'py, PyString>,
        fact: Bound<'py, PyAny>,
    ) -> PyResult<Reaction> {
        let Some(object) = &self.object else { return Ok(Reaction::None) };
        let object = object.bind(py).clone();
        let before = self.cwnd;
        let answer = object.call_method1(hook, (fact,))?;
        let name = hook.to_str()?;
        self.read(&object, name)?;
        if answer.is_none() {
            let shrank = self.cwnd < before;
            return Ok(if shrank { Reaction::Reduced } else { Reaction::None });
        }
        match answer.extract::<bool>() {
            Ok(true) => Ok(Reaction::Reduced),
            Ok(false) => Ok(Reaction::None),
            Err(_) => {
                let message = format!(
                    "{}.{name} returned {}: set `self.cwnd`, and return True for a reduction, or \
                     nothing",
                    object.get_type().qualname()?,
                    answer.repr()?
                );
                Err(exception::of_control(py, &message))
            }
        }
    }

    /// Reads window, threshold and rate.
    fn read<'py>(&mut self, object: &Bound<'py, PyAny>, hook: &str) -> PyResult<()> {
        let py = object.py();
        let mss = u64::from(self.mss);
        // Neither "nothing may be sent" nor "no limit" is a window.
        let window =
            |value: &Bound<'py, PyAny>| whole(value).filter(|n| *n >= mss && is_finite(value));
        let wanted = || format!("it must be bytes, at least one segment ({mss})");
        self.cwnd = attribute(object, hook, intern!(py, "cwnd"), window, wanted)?;
        let wanted = || "it must be bytes, or math.inf".to_owned();
        self.ssthresh = attribute(object, hook, intern!(py, "ssthresh"), whole, wanted)?;
        let rate = |value: &Bound<'py, PyAny>| {
            if value.is_none() {
                Some(None)
            } else {
                whole(value).and_then(Rate::from_bps).map(Some)
            }
        };
        let wanted = || "it must be bit/s above zero, or None".to_owned();
        self.pacing_rate = attribute(object, hook, intern!(py, "pacing_rate"), rate, wanted)?;
        Ok(())
    }

    fn hook<'py>(
        &mut self,
        py: Python<'py>,
        hook: &Bound<'py, PyString>,
        fact: impl IntoPyObjectExt<'py>,
    ) -> Reaction {
        let called = fact.into_bound_py_any(py).and_then(|fact| self.call(py, hook, fact));
        called.unwrap_or_else(|error| {
            self.fail(py, error);
            Reaction::None
        })
    }
}

/// Reads an attribute after a hook; `wanted` says which values it may have.
fn attribute<'py, T>(
    object: &Bound<'py, PyAny>,
    hook: &str,
    name: &Bound<'py, PyString>,
    read: impl Fn(&Bound<'py, PyAny>) -> Option<T>,
    wanted: impl Fn() -> String,
) -> PyResult<T> {
    let py = object.py();
    let Some(value) = object.getattr_opt(name)? else {
        let class = object.get_type().qualname()?;
        let message = format!(
            "{class}.{hook} left no {name}: `__init__` must call `super().__init__(setup)` first"
        );
        return Err(exception::of_control(py, &message));
    };
    if let Some(read) = read(&value) {
        return Ok(read);
    }
    let (class, value) = (object.get_type().qualname()?, value.repr()?);
    let message = format!("{class}.{hook} left {name} = {value}: {}", wanted());
    Err(exception::of_control(py, &message))
}

fn is_finite(value: &Bound<'_, PyAny>) -> bool {
    value.extract::<f64>().map_or(true, f64::is_finite)
}

impl CongestionControl for PythonControl {
    fn on_ack(&mut self, ack: &AckSample) -> Reaction {
        if self.is_failed() {
            return Reaction::None;
        }
        Python::attach(|py| self.hook(py, intern!(py, "on_ack"), facts::AckSample::from(ack)))
    }

    fn on_event(&mut self, event: &CongestionEvent) {
        if self.is_failed() {
            return;
        }
        Python::attach(|py| {
            let _ = match *event {
                CongestionEvent::Loss { now, in_flight, already_reduced } => {
                    let now = now.as_ps();
                    let loss = facts::Loss { now, in_flight, already_reduced };
                    self.hook(py, intern!(py, "on_loss"), loss)
                }
                CongestionEvent::Recovered { now, in_flight } => {
                    let recovered = facts::Recovered { now: now.as_ps(), in_flight };
                    self.hook(py, intern!(py, "on_recovered"), recovered)
                }
                CongestionEvent::Rto { now, first, in_flight, .. } => {
                    let rto = facts::Rto { now: now.as_ps(), first, in_flight };
                    self.hook(py, intern!(py, "on_rto"), rto)
                }
                CongestionEvent::IdleRestart { now, idle, .. } => {
                    let idle = facts::IdleRestart { now: now.as_ps(), idle: idle.as_ps() };
                    self.hook(py, intern!(py, "on_idle_restart"), idle)
                }
                CongestionEvent::Undo { now } => {
                    self.hook(py, intern!(py, "on_undo"), facts::Undo { now: now.as_ps() })
                }
                // Events that this crate does not know yet.
                _ => Reaction::None,
            };
        });
    }

    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }

    fn runs_by_the_clock(&self) -> bool {
        self.runs_by_the_clock
    }

    fn probe(&self, out: &mut dyn Probe) {
        let Some(object) = self.object.as_ref().filter(|_| !self.is_failed()) else { return };
        Python::attach(|py| {
            if let Err(error) = probe(object.bind(py), out) {
                self.fail(py, error);
            }
        });
    }
}

/// Reports `alpha`, if there is one, and the attributes that `variables` names with their units.
fn probe(object: &Bound<'_, PyAny>, out: &mut dyn Probe) -> PyResult<()> {
    let py = object.py();
    let wrong = |name: &str, value: &Bound<'_, PyAny>, wanted: &str| -> PyResult<PyErr> {
        let (class, value) = (object.get_type().qualname()?, value.repr()?);
        let message = format!("{class}.{name} is {value}: {wanted}");
        Ok(exception::of_control(py, &message))
    };
    if let Some(alpha) = object.getattr_opt(intern!(py, "alpha"))? {
        let Some(alpha) = q20(&alpha) else {
            return Err(wrong("alpha", &alpha, "it must be from 0 to 1")?);
        };
        out.value("alpha", Unit::Q20, alpha);
    }
    let Some(variables) = object.getattr_opt(intern!(py, "variables"))? else { return Ok(()) };
    let Ok(units) = variables.extract::<BTreeMap<String, String>>() else {
        let wanted = "it must be a dict of names and units, `{\"rate\": \"bit/s\"}`";
        return Err(wrong("variables", &variables, wanted)?);
    };
    if units.contains_key("alpha") {
        let wanted = "`alpha` is reported without it";
        return Err(wrong("variables", &variables, wanted)?);
    }
    for (name, unit) in units {
        let Some(unit) = Unit::named(&unit) else {
            let wanted = "units are bytes, packets, ns, bit/s and \"\"";
            return Err(wrong("variables", &variables, wanted)?);
        };
        let value = object.getattr(name.as_str())?;
        match value.extract::<f64>() {
            Ok(number) if number >= 0.0 && number.is_finite() => {
                out.value(&name, unit, unit.read(number));
            }
            // None: not known yet.
            _ if value.is_none() => {}
            _ => return Err(wrong(&name, &value, "it must be zero, a positive number, or None")?),
        }
    }
    Ok(())
}
