//! Registration of a workload: its declaration and the call that makes its traffic.

use std::sync::Arc;

use lowtide_schema::{Param, ParamError, Part, Value, ValueKind, Values};

use crate::api::{Traffic, WorkloadArgs, WorkloadContext};
use crate::cdf::Cdf;
use crate::error::WorkloadError;

/// Source of a workload's hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostSelection {
    /// The scenario: `from` and `to` must be given.
    FromTo,
    /// The scenario: `from` must be given, and there is no `to`.
    From,
    /// A file: `from` and `to` may be given and then limit which hosts it may name.
    FromFile,
}

/// The origin of the times at which flows or queries start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrivals {
    /// The scenario states them, or each query follows the previous one (closed loop).
    Stated,
    /// A file lists them.
    Listed,
    /// They are drawn, and no arrival waits for a completion (open loop).
    OpenLoop,
    /// As [`Self::OpenLoop`], unless this parameter has this value.
    OpenLoopUnless(&'static str, &'static str),
}

impl Arrivals {
    /// Returns false if each start is stated by the scenario itself.
    pub const fn are_drawn(self) -> bool {
        !matches!(self, Self::Stated)
    }
}

/// One registered workload.
#[derive(Debug)]
pub struct WorkloadEntry {
    /// Name in scenarios.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Source of the workload (`DCTCP §4.2.1`), or `lowtide`.
    pub spec: &'static str,
    /// Source of its hosts.
    pub host_selection: HostSelection,
    /// Origin of its arrival times.
    pub arrivals: Arrivals,
    /// Its parameters.
    pub params: &'static [Param],
    /// Makes the traffic: a pure function of its arguments. Callers use
    /// [`WorkloadEntry::generate`], which also checks the result.
    pub traffic: fn(&WorkloadArgs, &WorkloadContext) -> Result<Traffic, WorkloadError>,
}

impl Part for WorkloadEntry {
    const WHAT: &'static str = "workload";

    fn name(&self) -> &'static str {
        self.name
    }
}

impl WorkloadEntry {
    /// Returns arguments with these values as users write them, and else the defaults. For tests
    /// and examples: a distribution is a built-in one or a single value, and the caller adds hosts
    /// and files.
    ///
    /// # Errors
    /// A name that is not declared, an invalid value, or no value for a required parameter.
    pub fn args(&self, given: &[(&str, &str)]) -> Result<WorkloadArgs, ParamError> {
        let mut args =
            WorkloadArgs { values: Values::parse(self.params, given)?, ..WorkloadArgs::default() };
        for param in self.params {
            let ValueKind::Distribution(of) = *param.kind.without_word() else { continue };
            let Some(text) = args.values.text(param.name) else { continue };
            let Some(cdf) = Cdf::from_text(text, of) else {
                let message = format!("`{}`: `{text}` is not a built-in distribution", param.name);
                return Err(ParamError::new(param.name, message, param.kind.describe()));
            };
            args.distributions.insert(param.name, Arc::new(cdf));
        }
        Ok(args)
    }

    /// Returns true if no arrival waits for a completion, so that the load can go on beyond the
    /// counted arrivals. A value that a scenario file has wrong is missing: its error comes later.
    pub fn is_open_loop(&self, values: &Values) -> bool {
        match self.arrivals {
            Arrivals::Stated | Arrivals::Listed => false,
            Arrivals::OpenLoop => true,
            Arrivals::OpenLoopUnless(name, value) => values.get(name) != Some(&Value::Name(value)),
        }
    }

    /// Generates the traffic: a pure function of its arguments.
    ///
    /// # Errors
    /// The parameters contradict each other: no destination, an invalid file, more than
    /// [`MAX_CONNECTIONS`](crate::workload::MAX_CONNECTIONS) connections or
    /// [`MAX_QUERIES`](crate::workload::MAX_QUERIES) queries. Or the workload has a bug: traffic
    /// that no host can send.
    pub fn generate(
        &self,
        args: &WorkloadArgs,
        ctx: &WorkloadContext,
    ) -> Result<Traffic, WorkloadError> {
        let traffic = (self.traffic)(args, ctx)?;
        traffic.check_limits(args)?;
        traffic.check_hosts(self.name, args, ctx)?;
        Ok(traffic)
    }
}
