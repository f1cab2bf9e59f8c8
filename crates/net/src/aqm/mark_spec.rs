//! The marker of a queue, before a run.

use std::fmt;
use std::sync::Arc;

use lowtide_schema::{ParamError, Part, Value, Values};
use lowtide_units::QueueLength;

use super::droptail::{self, DropTail};
use super::entry::{DecisionPoint, MarkerConfig, MarkerEntry};
use super::{REGISTRY, params, step};

/// The marker (AQM) of a queue: its name, its values, and its checked configuration. A clone shares
/// them. Two are equal if name and values are.
#[derive(Clone)]
pub struct MarkSpec(Option<Arc<Configured>>);

struct Configured {
    entry: &'static MarkerEntry,
    values: Values,
    config: Arc<dyn MarkerConfig>,
}

/// Values of [`MarkSpec::NONE`].
static NO_VALUES: Values = Values::new();

impl MarkSpec {
    /// No marker: drop-tail.
    pub const NONE: Self = Self(None);

    /// A marker with these values, which [`Values::complete`] made of its parameters.
    ///
    /// # Errors
    /// The values do not fit each other.
    pub fn configure(entry: &'static MarkerEntry, mut values: Values) -> Result<Self, ParamError> {
        let config = Arc::from((entry.configure)(&mut values)?);
        Ok(Self(Some(Arc::new(Configured { entry, values, config }))))
    }

    /// The marker called `name` with parameters as users write them: `("red", &[("min", "5 pkt"),
    /// ("max", "15 pkt")])`. Others have their defaults.
    ///
    /// # Errors
    /// The name is unknown, or a parameter is unknown, missing or invalid.
    pub fn new(name: &str, params: &[(&str, &str)]) -> Result<Self, ParamError> {
        let Some(entry) = REGISTRY.find(name) else {
            let message = format!("there is no marker `{name}`");
            let help = Some(format!("the markers are {}", REGISTRY.names().join(", ")));
            return Err(ParamError { param: None, message, help });
        };
        Self::configure(entry, Values::parse(entry.params, params)?)
    }

    /// Step marking with threshold `k`; packets that are not ECN-capable pass.
    pub fn step(k: QueueLength) -> Self {
        let mut values = Values::new();
        values.set("k", Value::Length(k));
        values.set("not-ect", Value::Name("ignore"));
        Self::configure(&step::ENTRY, values).expect("every threshold is valid")
    }

    /// Returns the declaration of the marker.
    pub fn entry(&self) -> &'static MarkerEntry {
        self.0.as_ref().map_or(&droptail::ENTRY, |c| c.entry)
    }

    /// Returns the registered name.
    pub fn name(&self) -> &'static str {
        self.entry().name()
    }

    /// Returns the values of all parameters, with the defaults.
    pub fn values(&self) -> &Values {
        self.0.as_ref().map_or(&NO_VALUES, |c| &c.values)
    }

    /// Returns the checked configuration.
    pub fn config(&self) -> &dyn MarkerConfig {
        match &self.0 {
            Some(configured) => configured.config.as_ref(),
            None => &DropTail,
        }
    }

    /// Returns the registered name if the marker sets CE; `None` if it only drops, or if there is
    /// no marker.
    pub fn sets_ce(&self) -> Option<&'static str> {
        self.config().sets_ce().then(|| self.name())
    }

    /// Returns the marker without the parameters that have no effect in a run without ECN-capable
    /// packets. Two such runs whose markers are equal in this form have equal outcomes. It is only
    /// compared, never read back.
    #[must_use]
    pub fn without_ect(&self) -> Self {
        let Some(configured) = self.0.as_ref().filter(|c| c.config.forwards_not_ect()) else {
            return self.clone();
        };
        let Configured { entry, values, config } = configured.as_ref();
        let mut effective = Values::new();
        for name in [params::SIGNAL.name, params::NOT_ECT.name] {
            if let Some(value) = values.get(name) {
                effective.set(name, value.clone());
            }
        }
        Self(Some(Arc::new(Configured { entry, values: effective, config: Arc::clone(config) })))
    }

    /// Returns true if the marker may drop enqueued packets or needs periodic updates. Such a port
    /// takes two events per packet.
    pub(crate) fn needs_departure_events(&self) -> bool {
        self.config().decision_point() == DecisionPoint::DequeueDrop
    }
}

impl PartialEq for MarkSpec {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.values() == other.values()
    }
}

impl Eq for MarkSpec {}

impl fmt::Debug for MarkSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct(self.name());
        for (name, value) in self.values().iter() {
            out.field(name, &format_args!("{value}"));
        }
        out.finish()
    }
}
