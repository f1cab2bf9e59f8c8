//! The results: a table of tests and machines, and which needs were met on which machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Outcome of a test on a machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Passed,
    Failed(String),
    /// Not run to its end, and why.
    NotJudged(String),
}

/// A machine of the suite.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// `6.1`, `6.12`, `newest` or `running`.
    pub(crate) name: String,
    /// Release of its kernel; `None` if there is none.
    pub(crate) release: Option<String>,
}

/// The results of all machines.
#[derive(Default)]
pub(crate) struct Results {
    pub(crate) columns: Vec<Column>,
    /// By test, then by column.
    rows: BTreeMap<String, BTreeMap<usize, Outcome>>,
    /// Needs that were met on a machine.
    met: BTreeSet<String>,
    /// Needs that a machine lacks, with its name and why.
    missing: BTreeMap<String, Vec<String>>,
}

impl Results {
    /// Records a test on the last column.
    pub(crate) fn record(&mut self, test: &str, outcome: Outcome) {
        let column = self.columns.len() - 1;
        let name = &self.columns[column].name;
        match &outcome {
            Outcome::Passed => println!("{name}: {test}: passed"),
            Outcome::Failed(why) => println!("{name}: {test}: FAILED: {why}"),
            Outcome::NotJudged(why) => println!("{name}: {test}: not judged: {why}"),
        }
        self.rows.entry(test.to_owned()).or_default().insert(column, outcome);
    }

    /// Records whether a need is met on the last column.
    pub(crate) fn record_need(&mut self, need: &str, missing: Option<&str>) {
        match missing {
            None => drop(self.met.insert(need.to_owned())),
            Some(why) => {
                let column = self.columns.last().map_or("", |column| &column.name);
                let text = format!("{column}: {why}");
                let all = self.missing.entry(need.to_owned()).or_default();
                if !all.contains(&text) {
                    all.push(text);
                }
            }
        }
    }

    /// Failures, in words.
    pub(crate) fn failures(&self) -> Vec<String> {
        let mut failures = Vec::new();
        for (test, cells) in &self.rows {
            for (column, outcome) in cells {
                if let Outcome::Failed(why) = outcome {
                    failures.push(format!("{}: {test}: {why}", self.columns[*column].name));
                }
            }
        }
        failures
    }

    /// Needs that no machine meets, and tests that ran on none, in words.
    pub(crate) fn unmet(&self) -> Vec<String> {
        let unmet = self.missing.iter().filter(|(need, _)| !self.met.contains(*need));
        let mut errors: Vec<_> = unmet
            .map(|(need, why)| format!("no machine meets the need `{need}`: {}", why.join("; ")))
            .collect();
        for (test, cells) in &self.rows {
            let mut reasons = Vec::new();
            for (column, outcome) in cells {
                if let Outcome::NotJudged(why) = outcome {
                    reasons.push(format!("{}: {why}", self.columns[*column].name));
                }
            }
            if reasons.len() == cells.len() {
                errors.push(format!("no machine ran `{test}`: {}", reasons.join("; ")));
            }
        }
        errors
    }

    /// Passed, failed and not judged cells of a column.
    fn counts(&self, column: usize) -> [usize; 3] {
        let mut counts = [0; 3];
        for cells in self.rows.values() {
            match cells.get(&column) {
                Some(Outcome::Passed) => counts[0] += 1,
                Some(Outcome::Failed(_)) => counts[1] += 1,
                Some(Outcome::NotJudged(_)) => counts[2] += 1,
                None => {}
            }
        }
        counts
    }

    /// The table, with the reasons of cells that are not judged below it.
    pub(crate) fn table(&self) -> String {
        let mut out = String::from("| test |");
        for Column { name, release } in &self.columns {
            let release = release.as_deref().unwrap_or("no kernel");
            let _ = write!(out, " {name}: {release} |");
        }
        let _ = write!(out, "\n|---|{}", "---|".repeat(self.columns.len()));
        out.push_str("\n| all: passed, failed, not judged |");
        for column in 0..self.columns.len() {
            let [passed, failed, not_judged] = self.counts(column);
            let _ = write!(out, " {passed}, {failed}, {not_judged} |");
        }
        let mut reasons: Vec<&str> = Vec::new();
        for (test, cells) in &self.rows {
            let _ = write!(out, "\n| {test} |");
            for column in 0..self.columns.len() {
                let cell = match cells.get(&column) {
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
        out.push_str("\n\nNot judged:\n");
        for (number, why) in reasons.iter().enumerate() {
            let _ = writeln!(out, "{}. {why}", number + 1);
        }
        out
    }

    /// Numbers of the oldest and newest kernel on which a test was judged.
    pub(crate) fn range(&self) -> Option<[&str; 2]> {
        let judged = self.columns.iter().enumerate();
        let judged = judged.filter(|(at, _)| self.counts(*at)[..2] != [0, 0]);
        let mut releases: Vec<_> = judged.filter_map(|(_, c)| c.release.as_deref()).collect();
        releases.sort_by_key(|release| version(release));
        Some([*releases.first()?, *releases.last()?])
    }
}

/// Major and minor number of a release.
pub(crate) fn version(release: &str) -> (u32, u32) {
    let mut parts = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().ok());
    let mut next = || parts.next().flatten().unwrap_or(0);
    (next(), next())
}
