//! Partial deployment: k of n hosts moved from one scheme to another, from none to all, with the
//! effect on each class.
//!
//! Contract: the setup describes one host of each class. The command multiplies hosts and flows and
//! keeps the flows of each host unchanged. With none or all hosts moved there is only one class, so
//! these points are the pure runs.

mod page;
mod result;
mod text;

use lowtide_lab::{CompletedExperiment, ExecuteOptions, LabError};
use lowtide_scenario::{PlanPart, RunPlan, Scenario};
use lowtide_units::{Duration, parse_duration};

use super::endpoint_stack::EndpointStack;
use super::request::{CLASSES, MOVED_KEY, MatrixRequest, ShareRequest};
use super::run::{run_and_report, single_point_plan};

pub use super::request::MovedEnds;
pub(crate) use page::{charts, write_outputs};
pub use result::{ShareClass, SharePoint, ShareQueue, ShareResult};
pub use text::{describe, method, tables};

/// A request for a partial deployment.
#[derive(Clone, Debug)]
pub struct PartialDeployment {
    /// The setup: host groups `stayed-senders`, `stayed-receivers`, `moved-senders`,
    /// `moved-receivers`, and traffic groups whose names begin with `stayed-` or `moved-`.
    pub scenario: Scenario,
    /// The schemes: stayed, moved.
    ends: [EndpointStack; 2],
    hosts: u32,
    moved_ends: MovedEnds,
}

impl PartialDeployment {
    /// `hosts` host pairs that move from the first scheme to the second.
    pub fn new(
        scenario: Scenario,
        names: [&str; 2],
        hosts: u32,
        which: MovedEnds,
    ) -> Result<Self, LabError> {
        let [from, to] = names;
        let ends = [EndpointStack::parse(from, &scenario)?, EndpointStack::parse(to, &scenario)?];
        Ok(Self { scenario, ends, hosts, moved_ends: which })
    }

    /// The runs: by hosts moved, then seed.
    pub fn plan(&self) -> Result<RunPlan, LabError> {
        let [from, to] = &self.ends;
        let written = single_point_plan(&self.scenario)?;
        let table = written.runs.first().and_then(|r| r.resolved_toml().parse().ok());
        let table: toml::Table = table.unwrap_or_default();
        let mut parts = Vec::new();
        for moved in 0..=self.hosts {
            let mut scenario = self.scenario.clone();
            for (class, count) in CLASSES.into_iter().zip([self.hosts - moved, moved]) {
                scenario = scale_class(scenario, &table, class, count)?;
            }
            for (side, group) in ["senders", "receivers"].into_iter().enumerate() {
                let moves = match self.moved_ends {
                    MovedEnds::Both => true,
                    MovedEnds::Senders => side == 0,
                    MovedEnds::Receivers => side == 1,
                };
                let ends = [from, if moves { to } else { from }];
                for ((class, end), count) in
                    CLASSES.into_iter().zip(ends).zip([self.hosts - moved, moved])
                {
                    if count > 0 {
                        scenario = end.apply_to(scenario, &format!("{class}-{group}"))?;
                    }
                }
            }
            let plan = single_point_plan(&scenario)?;
            let point = vec![(MOVED_KEY.to_owned(), moved.to_string())];
            parts.push(PlanPart { scheme: format!("{} to {}", from.name, to.name), point, plan });
        }
        let title =
            format!("By share: k of {} hosts moved from {} to {}", self.hosts, from.name, to.name);
        Ok(RunPlan::concat(self.scenario.name(), &title, parts))
    }

    fn request(&self) -> ShareRequest {
        ShareRequest {
            stayed: self.ends[0].name.clone(),
            moved: self.ends[1].name.clone(),
            hosts: self.hosts,
            moves: self.moved_ends,
        }
    }
}

/// Names of the entries of `table` that belong to a class.
fn of_class<'a>(
    table: &'a toml::Table,
    kind: &str,
    class: &str,
) -> Vec<(&'a str, &'a toml::Table)> {
    let inner = table.get(kind).and_then(toml::Value::as_table);
    let all = inner.into_iter().flatten();
    all.filter(|(name, _)| name.split('-').next() == Some(class))
        .filter_map(|(name, value)| Some((name.as_str(), value.as_table()?)))
        .collect()
}

/// The setup with `hosts` hosts of a class instead of one; without the class if there are none.
fn scale_class(
    scenario: Scenario,
    table: &toml::Table,
    class: &str,
    hosts: u32,
) -> Result<Scenario, LabError> {
    let (groups, traffic) = (of_class(table, "hosts", class), of_class(table, "traffic", class));
    let wanted = ["senders", "receivers"].map(|end| format!("{class}-{end}"));
    if !wanted.iter().all(|w| groups.iter().any(|(name, _)| name == w)) || traffic.is_empty() {
        return Err(LabError::InvalidRequest {
            message: format!(
                "the setup `{}` needs [hosts.{class}-senders], [hosts.{class}-receivers] and flows \
                 [traffic.{class}-...] between them",
                scenario.name()
            ),
            help: Some("`lowtide matrix --print share-setup` prints one to start from".to_owned()),
        });
    }
    let mut out = scenario;
    for (name, group) in groups {
        let path = format!("hosts.{name}");
        if hosts == 0 {
            out = out.without(&path);
            continue;
        }
        if group.get("count").and_then(toml::Value::as_integer) != Some(1) {
            return Err(LabError::InvalidRequest {
                message: format!("[{path}] must have `count = 1`: --hosts multiplies it"),
                help: None,
            });
        }
        out = out.with_override(&format!("{path}.count"), &hosts.to_string())?;
    }
    for (name, group) in traffic {
        let path = format!("traffic.{name}");
        if hosts == 0 {
            out = out.without(&path);
            continue;
        }
        let count = group.get("count").and_then(toml::Value::as_integer).unwrap_or(1);
        let count = u64::try_from(count).unwrap_or(1) * u64::from(hosts);
        out = out.with_override(&format!("{path}.count"), &count.to_string())?;
        // Flows are assigned round robin: with n hosts, each gets its next one n spacings later.
        let spacing = group.get("spacing").and_then(toml::Value::as_str);
        let spacing = spacing.and_then(|s| parse_duration(s).ok()).unwrap_or_default();
        let each = Duration::from_ps(spacing.as_ps() / u64::from(hosts));
        out = out.with_override(&format!("{path}.spacing"), &each.to_string())?;
    }
    Ok(out)
}

/// Runs what is missing in the directory, and writes the report.
pub fn execute(
    share: &PartialDeployment,
    plan: &RunPlan,
    options: &ExecuteOptions<'_>,
) -> Result<(CompletedExperiment, ShareResult), LabError> {
    let request = share.request();
    run_and_report(
        &MatrixRequest::Share(request.clone()),
        plan,
        options,
        |dir, manifest, results| write_outputs(&request, dir, manifest, results),
    )
}
