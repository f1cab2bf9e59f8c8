//! By share: k of n hosts moved from one scheme to another, from none to all, and what each class gains
//! and loses.
//!
//! Contract: the setup describes one host of each class; the command multiplies hosts and flows and
//! keeps the flows of each host as they are. At both ends there is one class only, so that they are the
//! pure runs.

mod answer;
mod page;

use lowtide_scenario::{Part, Plan, Scenario};
use lowtide_units::{Duration, parse_duration};

use super::ask::{ask, one};
use super::ends::End;
use super::question::{CLASSES, MOVED, Question, ShareQuestion};
use crate::error::LabError;
use crate::session::Options;
use crate::stored::Finished;

pub use super::question::Move;
pub use answer::{ShareAnswer, ShareClass, SharePoint};
pub(crate) use page::present;
pub use page::{head, rows};

/// The question.
#[derive(Clone, Debug)]
pub struct Share {
    /// The setup: host groups `stayed-senders`, `stayed-receivers`, `moved-senders`, `moved-receivers`,
    /// and traffic groups whose names begin with `stayed-` or `moved-`.
    pub scenario: Scenario,
    /// The schemes: stayed, moved.
    ends: [End; 2],
    hosts: u32,
    which: Move,
}

impl Share {
    /// `hosts` host pairs that move from the first scheme to the second.
    pub fn new(
        scenario: Scenario,
        names: [&str; 2],
        hosts: u32,
        which: Move,
    ) -> Result<Self, LabError> {
        let [from, to] = names;
        let ends = [End::parse(from, &scenario)?, End::parse(to, &scenario)?];
        Ok(Self { scenario, ends, hosts, which })
    }

    /// Every run: by hosts moved, then seed.
    pub fn plan(&self) -> Result<Plan, LabError> {
        let [from, to] = &self.ends;
        let written = one(&self.scenario)?;
        let table = written.runs.first().and_then(|r| r.resolved_toml().parse().ok());
        let table: toml::Table = table.unwrap_or_default();
        let mut parts = Vec::new();
        for moved in 0..=self.hosts {
            let mut scenario = self.scenario.clone();
            for (class, count) in CLASSES.into_iter().zip([self.hosts - moved, moved]) {
                scenario = multiplied(scenario, &table, class, count)?;
            }
            for (side, group) in ["senders", "receivers"].into_iter().enumerate() {
                let moves = match self.which {
                    Move::Both => true,
                    Move::Senders => side == 0,
                    Move::Receivers => side == 1,
                };
                let ends = [from, if moves { to } else { from }];
                for ((class, end), count) in
                    CLASSES.into_iter().zip(ends).zip([self.hosts - moved, moved])
                {
                    if count > 0 {
                        scenario = end.put(scenario, &format!("{class}-{group}"))?;
                    }
                }
            }
            let plan = one(&scenario)?;
            let point = vec![(MOVED.to_owned(), moved.to_string())];
            parts.push(Part { scheme: format!("{} to {}", from.name, to.name), point, plan });
        }
        let title =
            format!("By share: k of {} hosts moved from {} to {}", self.hosts, from.name, to.name);
        Ok(Plan::joined(self.scenario.name(), &title, parts))
    }

    fn question(&self) -> ShareQuestion {
        ShareQuestion {
            stayed: self.ends[0].name.clone(),
            moved: self.ends[1].name.clone(),
            hosts: self.hosts,
            moves: self.which,
        }
    }
}

/// Names in `table` of what belongs to a class.
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

/// The setup with `hosts` hosts of a class in place of one; without the class when there are none.
fn multiplied(
    scenario: Scenario,
    table: &toml::Table,
    class: &str,
    hosts: u32,
) -> Result<Scenario, LabError> {
    let (groups, traffic) = (of_class(table, "hosts", class), of_class(table, "traffic", class));
    let wanted = ["senders", "receivers"].map(|end| format!("{class}-{end}"));
    if !wanted.iter().all(|w| groups.iter().any(|(name, _)| name == w)) || traffic.is_empty() {
        return Err(LabError::Question {
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
            return Err(LabError::Question {
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
        // Flows are dealt round robin: with n hosts, each gets its next one n spacings later.
        let spacing = group.get("spacing").and_then(toml::Value::as_str);
        let spacing = spacing.and_then(|s| parse_duration(s).ok()).unwrap_or_default();
        let each = Duration::from_ps(spacing.as_ps() / u64::from(hosts));
        out = out.with_override(&format!("{path}.spacing"), &each.to_string())?;
    }
    Ok(out)
}

/// Runs what is not in the directory yet, and writes the report.
pub fn execute(
    share: &Share,
    plan: &Plan,
    options: &Options<'_>,
) -> Result<(Finished, ShareAnswer), LabError> {
    let question = share.question();
    ask(&Question::Share(question.clone()), plan, options, |dir, manifest, results| {
        present(&question, dir, manifest, results)
    })
}
