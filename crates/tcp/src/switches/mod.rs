//! The switches: names and accepted values of all fields of [`Config`].
//!
//! Contract: only this table and the parameters that registered files declare decide behaviour.
//! Each field of `Config` has exactly one switch. Scenario files, the command line, profiles and
//! documentation read this table and keep no second list. A known feature that this version lacks
//! is a switch or value that is rejected by name, with the reason.

mod connection;
mod defence;
mod delay;
mod field;
mod liveness;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use lowtide_schema::{Param, UnknownName, Value, ValueError, ValueKind};

use crate::settings::config::{BufferTuning, BufferTuningRule, Config, EcnNegotiation, PacingRule};
use crate::{ack, cc, feedback};

/// The end of a connection that a switch belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The end that sends the data.
    Sender,
    /// The end that receives the data.
    Receiver,
    /// Both ends: they must agree on it, or both use it.
    Connection,
}

/// One named switch.
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    /// Name in kebab case (`window-floor`).
    pub name: &'static str,
    /// The end whose behaviour it changes.
    pub side: Side,
    /// The accepted values.
    pub kind: ValueKind,
    /// One sentence, with the unit.
    pub doc: &'static str,
    /// Source of the choice (`RFC 6298 §2.4`).
    pub source: &'static str,
    /// Reads the value.
    pub get: fn(&Config) -> Value,
    /// Writes the value, which must be of `kind`; [`Setting::set`] checks that first.
    pub set: fn(&mut Config, &Value) -> Result<(), ValueError>,
}

/// Every switch, sender first.
pub static SWITCHES: &[Switch] = &ALL;

/// The tables in display order.
const TABLES: [&[Switch]; 6] = [
    sender::SENDER,
    receiver::RECEIVER,
    connection::CONNECTION,
    delay::DELAY,
    defence::DEFENCE,
    liveness::LIVENESS,
];

const fn count() -> usize {
    let (mut n, mut t) = (0, 0);
    while t < TABLES.len() {
        n += TABLES[t].len();
        t += 1;
    }
    n
}

const ALL: [Switch; count()] = {
    let mut all = [sender::SENDER[0]; _];
    let (mut n, mut t) = (0, 0);
    while t < TABLES.len() {
        let mut i = 0;
        while i < TABLES[t].len() {
            all[n] = TABLES[t][i];
            n += 1;
            i += 1;
        }
        t += 1;
    }
    all
};

/// A named setting: a switch, or a parameter of a registered file.
#[derive(Clone, Copy, Debug)]
pub enum Setting {
    /// A field of [`Config`], or a rejected feature.
    Switch(&'static Switch),
    /// A parameter, written `owner.name`.
    Param {
        /// Name of the control, policy or decoder that declares it.
        owner: &'static str,
        /// The end whose behaviour it changes.
        side: Side,
        /// The declaration.
        param: &'static Param,
    },
}

impl Setting {
    /// The name in files and on the command line: `window-floor`, `dctcp.shift-g`.
    pub fn name(&self) -> String {
        match self {
            Self::Switch(s) => s.name.to_string(),
            Self::Param { owner, param, .. } => format!("{owner}.{}", param.name),
        }
    }

    /// The end whose behaviour it changes.
    pub const fn side(&self) -> Side {
        match self {
            Self::Switch(s) => s.side,
            Self::Param { side, .. } => *side,
        }
    }

    /// The accepted values.
    pub const fn kind(&self) -> ValueKind {
        match self {
            Self::Switch(s) => s.kind,
            Self::Param { param, .. } => param.kind,
        }
    }

    /// One sentence, with the unit.
    pub const fn doc(&self) -> &'static str {
        match self {
            Self::Switch(s) => s.doc,
            Self::Param { param, .. } => param.doc,
        }
    }

    /// Source of the choice or its default.
    pub const fn source(&self) -> &'static str {
        match self {
            Self::Switch(s) => s.source,
            Self::Param { param, .. } => param.source,
        }
    }

    /// Returns the value in `config`: for a parameter that was not set its default, if it has one.
    pub fn get(&self, config: &Config) -> Option<Value> {
        match self {
            Self::Switch(s) => Some((s.get)(config)),
            Self::Param { owner, param, .. } => match config.params.get(owner, param.name) {
                Some(value) => Some(value.clone()),
                None => param.default.text().and_then(|text| param.kind.parse(text).ok()),
            },
        }
    }

    /// Returns the value in `config` as text that [`set_text`] accepts; `unset` if there is none.
    pub fn text(&self, config: &Config) -> String {
        self.get(config).map_or_else(|| "unset".to_string(), |value| value.to_string())
    }

    /// Sets the value in `config` if it is accepted.
    pub fn set(&self, config: &mut Config, value: &Value) -> Result<(), ValueError> {
        self.kind().check(value)?;
        match self {
            Self::Switch(s) => (s.set)(config, value),
            Self::Param { owner, param, .. } => config.params.set(owner, param, value.clone()),
        }
    }
}

/// Returns every setting: all switches, then the parameters of every registered congestion control,
/// decoder and policy.
pub fn all() -> Vec<Setting> {
    let mut out: Vec<Setting> = SWITCHES.iter().map(Setting::Switch).collect();
    let mut add = |owner, side, params: &'static [Param]| {
        out.extend(params.iter().map(|param| Setting::Param { owner, side, param }));
    };
    for e in cc::REGISTRY.all() {
        add(e.name, Side::Sender, e.params);
    }
    for e in feedback::REGISTRY.all() {
        add(e.name, Side::Sender, e.params);
    }
    for e in ack::REGISTRY.all() {
        add(e.name, Side::Receiver, e.params);
    }
    out
}

/// Finds a setting by name: `window-floor`, or `owner.param` as in `dctcp.shift-g`.
pub fn find(name: &str) -> Option<Setting> {
    all().into_iter().find(|s| s.name() == name)
}

/// Sets `name` in `config` to the value in `text`.
pub fn set_text(config: &mut Config, name: &str, text: &str) -> Result<(), SwitchError> {
    let setting = find(name).ok_or_else(|| SwitchError::unknown(name))?;
    setting.kind().parse(text).and_then(|value| setting.set(config, &value)).map_err(|error| {
        SwitchError::Value { name: name.to_string(), error, accepts: setting.kind().describe() }
    })
}

/// Checks the switches of a complete configuration in combination.
///
/// # Errors
/// The buffer is to be tuned, and no rule is known for the profile; or the congestion control is
/// rate-based, and the host does not pace; or it may not be ECN-capable.
pub fn check(config: &Config) -> Result<(), SwitchError> {
    let (tuning, rule) = (config.buffer_tuning, config.buffer_tuning_rule);
    if tuning == BufferTuning::Auto && rule == BufferTuningRule::None {
        let rules = "`freebsd-10`, `freebsd-14` or `linux`";
        return Err(SwitchError::Value {
            name: "buffer-tuning".to_string(),
            error: ValueError::new(format!(
                "`auto` needs a rule, and the profile has none; set `buffer-tuning-rule` to {rules}"
            )),
            accepts: rules.to_string(),
        });
    }
    let rate_based = cc::REGISTRY.find(config.cc).is_some_and(|e| e.declared.rate_based);
    if rate_based && config.pacing == PacingRule::Off {
        return Err(SwitchError::Value {
            name: "pacing".to_string(),
            error: ValueError::new(format!(
                "the congestion control `{}` sends at its own rate, so a host that does not pace \
                 cannot run it; set `pacing` to `control`",
                config.cc
            )),
            accepts: "`control` or `window`".to_string(),
        });
    }
    if config.cc == cc::bbr3::ENTRY.name && config.ecn != EcnNegotiation::Off {
        return Err(SwitchError::Value {
            name: "ecn".to_string(),
            error: ValueError::new(
                "`bbr3` has no reaction to CE, which its draft (§3.6) demands of a connection that \
                 sends ECT; set `ecn` to `off`"
                    .to_string(),
            ),
            accepts: "`off`".to_string(),
        });
    }
    Ok(())
}

/// Returns the value of `name` in `config` as [`Setting::text`].
pub fn get_text(config: &Config, name: &str) -> Result<String, SwitchError> {
    let setting = find(name).ok_or_else(|| SwitchError::unknown(name))?;
    Ok(setting.text(config))
}

/// Reason why a setting was rejected.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SwitchError {
    /// No switch, parameter, profile or scheme has that name.
    Unknown(UnknownName),
    /// The value is not accepted.
    Value {
        /// The switch.
        name: String,
        /// The error in the value, with the correction.
        error: ValueError,
        /// The accepted values, in words.
        accepts: String,
    },
}

impl SwitchError {
    fn unknown(name: &str) -> Self {
        let names: Vec<String> = all().iter().map(Setting::name).collect();
        Self::Unknown(UnknownName::new("switch", name, names))
    }
}

impl fmt::Display for SwitchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(error) => error.fmt(f),
            Self::Value { name, error, .. } => write!(f, "`{name}`: {error}"),
        }
    }
}

impl core::error::Error for SwitchError {}
