//! The declaration of a marker, and its checked configuration.

use std::fmt;

use lowtide_schema::{Param, ParamError, Part, Values};
use lowtide_sim::Seed;
use lowtide_units::{Duration, QueueLength, Rate};

use super::marker::Marker;
use crate::Framing;
use crate::line::Line;

/// Declaration of a marker.
#[derive(Clone, Copy, Debug)]
pub struct MarkerEntry {
    /// Name in kebab case, as users write it.
    pub name: &'static str,
    /// A one-line summary.
    pub summary: &'static str,
    /// Its specification.
    pub spec: &'static str,
    /// Its parameters, in the order in which a resolved scenario writes them.
    pub params: &'static [Param],
    /// Checks the values of the parameters together. May set a parameter without a default whose
    /// value depends on the others.
    pub configure: Configure,
}

/// A function that checks the values of a marker's parameters and makes its configuration. The
/// error names the parameter that is responsible.
pub type Configure = fn(&mut Values) -> Result<Box<dyn MarkerConfig>, ParamError>;

impl Part for MarkerEntry {
    const WHAT: &'static str = "marker";

    fn name(&self) -> &'static str {
        self.name
    }
}

/// The checked configuration of a marker: facts that are known before a run.
pub trait MarkerConfig: fmt::Debug + Send + Sync {
    /// Starts the marker of one queue.
    fn start(&self, setup: &MarkerSetup) -> Marker;

    /// Returns true if it sets CE, false if it only drops.
    fn sets_ce(&self) -> bool;

    /// Returns the point at which it decides. It determines the cost of a port.
    fn decision_point(&self) -> DecisionPoint {
        DecisionPoint::Enqueue
    }

    /// Returns true if it needs all packets of a line, so that it does not fit a class.
    fn needs_whole_line(&self) -> bool {
        false
    }

    /// Returns true if it forwards every packet that is not ECN-capable. Then only its `signal` and
    /// `not-ect` affect a run without ECN-capable packets: no other parameter changes its decision
    /// point or whether it needs a whole line.
    fn forwards_not_ect(&self) -> bool {
        false
    }

    /// Returns a condition without which it never signals.
    fn signal_condition(&self) -> SignalCondition {
        SignalCondition::Unknown
    }
}

/// The point at which a marker decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecisionPoint {
    /// On arrival. The port takes one event per packet.
    Enqueue,
    /// At the start of transmission, and it never drops there: a drop is ignored. The port takes
    /// one event per packet.
    DequeueMark,
    /// At the start of transmission, possibly by a drop, or it needs [`super::Aqm::advance`]. The
    /// port takes two events per packet. Not at hosts.
    DequeueDrop,
}

/// A necessary condition for the signals of a marker. A check before the run compares it with the
/// buffer, so that a marker which can never signal is rejected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SignalCondition {
    /// No condition is known.
    Unknown,
    /// A packet finds, or leaves behind, a queue longer than `length`.
    FoundQueue {
        /// The parameter with that value.
        param: &'static str,
        /// The threshold.
        length: QueueLength,
    },
    /// The queue is longer than `length` at some time.
    AnyQueue {
        /// The parameter with that value.
        param: &'static str,
        /// The threshold.
        length: QueueLength,
    },
    /// A packet waits at least `target / divisor`, or at least `or`.
    Sojourn {
        /// The parameter with the value `target`.
        param: &'static str,
        /// The target.
        target: Duration,
        /// Not zero.
        divisor: u64,
        /// Another delay that is sufficient.
        or: Option<Duration>,
    },
    /// It never signals.
    Never(ParamError),
}

/// The queue at which a marker starts.
#[derive(Clone, Copy, Debug)]
pub struct MarkerSetup {
    line: Line,
    seed: Seed,
}

impl MarkerSetup {
    /// The queue of a line with that rate and framing; `seed` seeds random draws.
    pub fn new(rate: Rate, framing: Framing, seed: Seed) -> Self {
        Self { line: Line::new(rate, framing), seed }
    }

    pub(crate) const fn of_line(line: Line, seed: Seed) -> Self {
        Self { line, seed }
    }

    /// Returns the rate of the line.
    pub fn rate(&self) -> Rate {
        self.line.rate()
    }

    /// Returns the bytes of framing per packet.
    pub const fn overhead(&self) -> u64 {
        self.line.overhead()
    }

    /// Returns the serialisation time of a packet of `size` IP bytes, with framing.
    pub fn serialization(&self, size: u32) -> Duration {
        self.line.serialization(size)
    }

    /// Returns the seed of its random draws. It depends on the run, the port and the class only.
    pub const fn seed(&self) -> Seed {
        self.seed
    }
}
