//! The results by machine: outcomes of tests, and which needs were met.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// Outcome of a test on a machine.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Outcome {
    Passed,
    Failed(String),
    /// Not run to its end, and why.
    NotJudged(String),
}

/// The results of a machine.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// Release of its kernel; `None` if there is none.
    pub(crate) release: Option<String>,
    tests: BTreeMap<String, Outcome>,
    /// Each need, and why it is missing.
    needs: BTreeMap<String, Option<String>>,
}

impl Machine {
    pub(crate) fn new(release: Option<String>) -> Self {
        Self { release, ..Self::default() }
    }

    pub(crate) fn record(&mut self, test: &str, outcome: Outcome) {
        println!("{}: {test}: {outcome:?}", self.release.as_deref().unwrap_or("no kernel"));
        self.tests.insert(test.to_owned(), outcome);
    }

    pub(crate) fn record_need(&mut self, need: &str, missing: Option<&str>) {
        self.needs.insert(need.to_owned(), missing.map(str::to_owned));
    }

    fn counts(&self) -> [usize; 3] {
        let mut counts = [0; 3];
        for outcome in self.tests.values() {
            match outcome {
                Outcome::Passed => counts[0] += 1,
                Outcome::Failed(_) => counts[1] += 1,
                Outcome::NotJudged(_) => counts[2] += 1,
            }
        }
        counts
    }
}

/// The results of all machines, by name.
#[derive(Default, Debug, Serialize, Deserialize)]
pub(crate) struct Results(pub(crate) BTreeMap<String, Machine>);

impl Results {
    /// Adds the results of a run. Those of an earlier kernel of the machine are forgotten.
    pub(crate) fn update(&mut self, name: &str, new: Machine) {
        let kept = self.0.entry(name.to_owned()).or_default();
        if kept.release != new.release {
            *kept = Machine::new(new.release);
        }
        kept.tests.extend(new.tests);
        kept.needs.extend(new.needs);
    }

    /// Failures, in words.
    pub(crate) fn failures(&self) -> Vec<String> {
        let mut failures = Vec::new();
        for (name, machine) in &self.0 {
            for (test, outcome) in &machine.tests {
                if let Outcome::Failed(why) = outcome {
                    failures.push(format!("{name}: {test}: {why}"));
                }
            }
        }
        failures
    }

    fn tests(&self) -> BTreeSet<&String> {
        self.0.values().flat_map(|machine| machine.tests.keys()).collect()
    }

    /// Needs that no machine meets, and tests that ran on none, in words.
    pub(crate) fn unmet(&self) -> Vec<String> {
        let needs: BTreeSet<_> = self.0.values().flat_map(|machine| machine.needs.keys()).collect();
        let mut errors = Vec::new();
        let mut check = |what: String, reasons: Vec<Option<String>>| {
            let reasons: Option<Vec<_>> = reasons.into_iter().collect();
            if let Some(reasons) = reasons {
                errors.push(format!("{what}: {}", reasons.join("; ")));
            }
        };
        for need in needs {
            let all = self.0.iter().filter_map(|(name, machine)| {
                let why = machine.needs.get(need)?.as_ref();
                Some(why.map(|why| format!("{name}: {why}")))
            });
            check(format!("no machine meets the need `{need}`"), all.collect());
        }
        for test in self.tests() {
            let all = self.0.iter().filter_map(|(name, machine)| {
                Some(match machine.tests.get(test)? {
                    Outcome::NotJudged(why) => Some(format!("{name}: {why}")),
                    Outcome::Passed | Outcome::Failed(_) => None,
                })
            });
            check(format!("no machine ran `{test}`"), all.collect());
        }
        errors
    }

    /// The machines, oldest kernel first; those without one come first.
    fn columns(&self) -> Vec<(&String, &Machine)> {
        let mut columns: Vec<_> = self.0.iter().collect();
        columns.sort_by_key(|(_, machine)| machine.release.as_deref().map(version));
        columns
    }

    /// The table, with the reasons of cells that are not judged below it.
    pub(crate) fn table(&self) -> String {
        let columns = self.columns();
        let mut out = String::from("| test |");
        for (name, machine) in &columns {
            let release = machine.release.as_deref().unwrap_or("no kernel");
            let _ = write!(out, " {name}: {release} |");
        }
        let _ = write!(out, "\n|---|{}", "---|".repeat(columns.len()));
        out.push_str("\n| all: passed, failed, not judged |");
        for (_, machine) in &columns {
            let [passed, failed, not_judged] = machine.counts();
            let _ = write!(out, " {passed}, {failed}, {not_judged} |");
        }
        let mut reasons: Vec<&str> = Vec::new();
        for test in self.tests() {
            let _ = write!(out, "\n| `{test}` |");
            for (_, machine) in &columns {
                let cell = match machine.tests.get(test) {
                    Some(Outcome::Passed) => "passed".to_owned(),
                    Some(Outcome::Failed(_)) => "failed".to_owned(),
                    Some(Outcome::NotJudged(why)) => {
                        let at = reasons.iter().position(|known| known == why);
                        let at = at.unwrap_or_else(|| {
                            reasons.push(why);
                            reasons.len() - 1
                        });
                        format!("not judged ({})", at + 1)
                    }
                    None => String::new(),
                };
                let _ = write!(out, " {cell} |");
            }
        }
        out.push_str("\n\n| not judged | because |\n|---|---|\n");
        for (number, why) in reasons.iter().enumerate() {
            let _ = writeln!(out, "| {} | {why} |", number + 1);
        }
        let failures = self.failures();
        if !failures.is_empty() {
            out.push_str("\n| failed |\n|---|\n");
        }
        for failure in failures {
            let _ = writeln!(out, "| {failure} |");
        }
        out
    }

    /// Releases of the oldest and the newest kernel on which a test was judged.
    pub(crate) fn range(&self) -> Option<[&str; 2]> {
        let columns = self.columns();
        let judged = columns.iter().filter(|(_, machine)| machine.counts()[..2] != [0, 0]);
        let releases: Vec<_> = judged.filter_map(|(_, m)| m.release.as_deref()).collect();
        Some([*releases.first()?, *releases.last()?])
    }
}

/// Major and minor number of a release.
pub(crate) fn version(release: &str) -> (u32, u32) {
    let mut parts = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().ok());
    let mut next = || parts.next().flatten().unwrap_or(0);
    (next(), next())
}
