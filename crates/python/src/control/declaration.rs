//! The declaration of a class: its name, parameters and behaviour, as users write them.

use lowtide_schema::{DefaultValue, Param, ValueKind, Values};
use lowtide_tcp::cc::{
    CcEntry, CcSetup, CongestionControl, DeclaredProperties, Exemption, Requirements, Signal,
};
use lowtide_tcp::profile::{Assignment, set};
use lowtide_tcp::scheme::{self, Scheme};
use lowtide_units::{parse_bytes, parse_duration, parse_rate};
use pyo3::prelude::*;

use super::values::to_python;
use crate::exception;

/// Makes the control of a connection.
type Build = fn(&Values, &CcSetup) -> Box<dyn CongestionControl>;

/// The parameter that identifies the code of a class.
pub(super) const CODE: &str = "code";

/// A class, as the package describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Declaration {
    pub(super) name: String,
    pub(super) code: String,
    summary: String,
    spec: String,
    /// The scheme whose other settings its own scheme has.
    scheme: String,
    params: Vec<ParamDeclaration>,
    reacts_to: Vec<String>,
    floor_segments: u32,
    proportional: bool,
    rate_based: bool,
    exemptions: Vec<(String, String)>,
    needs_delay: bool,
}

/// A parameter.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ParamDeclaration {
    name: String,
    kind: String,
    default: String,
    min: u64,
    max: u64,
    choices: Vec<String>,
    doc: String,
    source: String,
}

/// Registered declarations live as long as the process.
fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn leak_all<T>(items: Vec<T>) -> &'static [T] {
    Box::leak(items.into_boxed_slice())
}

/// The code of a registered class; empty for another control.
pub(super) fn code_of(entry: &'static CcEntry) -> &'static str {
    let code = entry.params.iter().find(|param| param.name == CODE);
    code.and_then(|param| param.default.text()).unwrap_or_default()
}

fn kind(kind: &str, min: u64, max: u64, choices: Vec<String>) -> ValueKind {
    match kind {
        "bool" => ValueKind::Bool,
        "count" => ValueKind::Count { min, max },
        "ratio" => ValueKind::Ratio,
        "time" => ValueKind::TIME,
        "size" => ValueKind::SIZE,
        "rate" => ValueKind::Rate,
        _ => ValueKind::Choice(leak_all(choices.into_iter().map(leak).collect())),
    }
}

/// Returns the kind of a parameter whose default is written as text, and the value of the text:
/// times in ps, sizes in bytes, rates in bit/s. `kind` is known unless the text has a unit.
#[pyfunction]
pub(crate) fn default_value(
    py: Python<'_>,
    given: Option<&str>,
    text: &str,
    min: u64,
    max: u64,
    choices: Vec<String>,
) -> PyResult<(String, Py<PyAny>)> {
    let name = match given {
        Some(name) => name,
        None if parse_duration(text).is_ok() => "time",
        None if text.trim().parse::<f64>().is_err() && parse_bytes(text).is_ok() => "size",
        None if parse_rate(text).is_ok() => "rate",
        None => {
            let message = format!("`{text}` is no default of a parameter");
            let help = "write a time, a size or a rate with its unit, or give `choices`";
            return Err(exception::of_request(py, &message, Some(help)));
        }
    };
    let value = kind(name, min, max, choices).parse(text);
    let value = value.map_err(|error| exception::of_request(py, &error.to_string(), None))?;
    Ok((name.to_owned(), to_python(py, &value)?))
}

impl ParamDeclaration {
    fn param(self) -> Param {
        Param {
            name: leak(self.name),
            kind: kind(&self.kind, self.min, self.max, self.choices),
            default: DefaultValue::Is(leak(self.default)),
            doc: leak(self.doc),
            source: leak(self.source),
        }
    }
}

impl Declaration {
    /// The entry of the registry, whose controls `build` makes.
    pub(super) fn entry(self, py: Python<'_>, build: Build) -> PyResult<&'static CcEntry> {
        let signal = |name: String| match name.as_str() {
            "loss" => Ok(Signal::Loss),
            "ecn" => Ok(Signal::Ecn),
            "delay" => Ok(Signal::Delay),
            _ => {
                let message = format!("`{name}` is no congestion signal of `reacts_to`");
                Err(exception::of_request(py, &message, Some("use loss, ecn or delay")))
            }
        };
        let signals: PyResult<Vec<Signal>> = self.reacts_to.into_iter().map(signal).collect();
        let exemption = |(rule, source)| Exemption { rule: leak(rule), source: leak(source) };
        let code = leak(self.code);
        let mut params: Vec<Param> = self.params.into_iter().map(ParamDeclaration::param).collect();
        params.push(Param {
            name: CODE,
            kind: ValueKind::Choice(leak_all(vec![code])),
            default: DefaultValue::Is(code),
            doc: "Digest of the code of the class; results of another code have another one.",
            source: "the Python package of lowtide",
        });
        Ok(Box::leak(Box::new(CcEntry {
            name: leak(self.name),
            summary: leak(self.summary),
            spec: leak(self.spec),
            equations: &[],
            params: leak_all(params),
            declared: DeclaredProperties {
                reacts_to: leak_all(signals?),
                floor_segments: self.floor_segments,
                proportional: self.proportional,
                rate_based: self.rate_based,
                exemptions: leak_all(self.exemptions.into_iter().map(exemption).collect()),
            },
            requires: Requirements {
                ecn: false,
                host_stamps: self.needs_delay,
                rate_samples: true,
            },
            build,
        })))
    }

    /// A scheme with this control and the settings of another one.
    pub(super) fn scheme(&self, py: Python<'_>) -> PyResult<&'static Scheme> {
        let other = scheme::REGISTRY.get(&self.scheme);
        let other = other.map_err(|e| exception::of_request(py, &e.to_string(), None))?;
        let own_params = other.value("cc").map(|name| format!("{name}."));
        let is_kept = |a: &&Assignment| {
            a.switch != "cc" && own_params.as_ref().is_none_or(|own| !a.switch.starts_with(own))
        };
        let name = leak(self.name.clone());
        let mut settings = vec![set("cc", name, "a class in Python")];
        settings.extend(other.settings.iter().filter(is_kept));
        let summary = leak(self.summary.clone());
        Ok(Box::leak(Box::new(Scheme { name, summary, settings: leak_all(settings) })))
    }
}
