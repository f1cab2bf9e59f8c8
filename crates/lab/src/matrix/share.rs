//! By share: k of n hosts moved from one scheme to another, from none to all, and what each class gains
//! and loses.
//!
//! Contract: the setup describes one host of each class; the command multiplies hosts and flows and
//! keeps the flows of each host as they are. At both ends there is one class only, so that they are the
//! pure runs.

use lowtide_record::{Manifest, RunDir};
use lowtide_scenario::{Part, Plan, Scenario};
use lowtide_units::{Duration, parse_duration};
use serde::{Deserialize, Serialize};

use super::answer::{json, mixed_up};
use super::cell::{Queue, mean};
use super::ends::End;
use super::page::{self, Drawn, Frame, Section, Table};
use super::pairs::{ask, one};
use super::question::{Either, Question};
use crate::error::LabError;
use crate::facts::{GroupFacts, RunFacts};
use crate::figure::{Axis, Dot, Figure, Look, Panel, Series, number, to_svg};
use crate::results::Results;
use crate::session::{Finished, Options};

/// What the tables of a class begin with in the setup.
const CLASSES: [&str; 2] = ["stayed", "moved"];
/// The swept key of the plan.
const MOVED: &str = "moved";

/// Which end of a host pair moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Move {
    /// Both.
    Both,
    /// Only who sends.
    Senders,
    /// Only who receives.
    Receivers,
}

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

/// The question as it is kept.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct ShareQuestion {
    pub(crate) stayed: String,
    pub(crate) moved: String,
    pub(crate) hosts: u32,
    pub(crate) moves: Move,
}

/// Everything that it says; `share.json` and the answer of `--json`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ShareAnswer {
    /// `lowtide.share/1`.
    pub schema: &'static str,
    /// Version of the tool.
    pub version: String,
    /// Name of the setup.
    pub scenario: String,
    /// Hash of all runs without their seeds.
    pub scenario_hash: String,
    /// One digest for all runs.
    pub digest: String,
    /// What hosts have before they move.
    pub from: String,
    /// What they move to.
    pub to: String,
    /// Which ends move.
    pub moves: Move,
    /// How many host pairs there are.
    pub hosts: u32,
    /// Seeds of each point.
    pub seeds: usize,
    /// From none moved to all.
    pub points: Vec<SharePoint>,
}

/// One number of hosts moved.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SharePoint {
    /// How many have moved.
    pub moved_hosts: u32,
    /// Those that have not; null when all have.
    pub stayed: Option<ShareClass>,
    /// Those that have; null when none has.
    pub moved: Option<ShareClass>,
    /// The bottleneck.
    pub queue: Queue,
}

/// The hosts of one class.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ShareClass {
    /// How many.
    pub hosts: u32,
    /// Goodput of their flows without a size, over the hosts; null without such flows.
    pub goodput_mbps_per_host: Option<f64>,
    /// Jain's index over these flows.
    pub jain: Option<f64>,
    /// Mean completion time of their flows with a size; null unless all completed.
    pub fct_ms_mean: Option<f64>,
    /// Median of the same; a flow that did not complete counts as long.
    pub fct_ms_p50: Option<f64>,
    /// 99th percentile of the same.
    pub fct_ms_p99: Option<f64>,
    /// Flows with a size that did not complete.
    pub unfinished: usize,
    /// Retransmission timeouts.
    pub rto_count: u64,
    /// Payload bytes sent more than once.
    pub retx_bytes: u64,
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
        let title = format!("{} of {} hosts from {} to {}", "k", self.hosts, from.name, to.name);
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
    let (finished, answer) = ask(&Question::Share(share.question()), plan, options)?;
    match answer {
        Either::Share(answer) => Ok((finished, answer)),
        Either::Pairs(_) => Err(mixed_up()),
    }
}

impl ShareClass {
    fn new(class: &str, hosts: u32, runs: &[&RunFacts]) -> Option<Self> {
        if hosts == 0 {
            return None;
        }
        let of = |sized: bool| -> Vec<Vec<&GroupFacts>> {
            let own = |g: &&GroupFacts| {
                g.name.split('-').next() == Some(class) && g.size_bytes.is_some() == sized
            };
            runs.iter().map(|r| r.groups.iter().filter(own).collect()).collect()
        };
        let (long, short) = (of(false), of(true));
        let sum = |run: &Vec<&GroupFacts>| {
            let each: Option<Vec<f64>> = run.iter().map(|g| g.goodput_mbps).collect();
            each.filter(|e| !e.is_empty()).map(|e| e.iter().sum::<f64>() / f64::from(hosts))
        };
        let first = |read: fn(&GroupFacts) -> Option<f64>, runs: &[Vec<&GroupFacts>]| {
            mean(runs.iter().map(|run| run.first().and_then(|g| read(g))))
        };
        let all = || long.iter().chain(&short).flatten();
        Some(Self {
            hosts,
            goodput_mbps_per_host: mean(long.iter().map(sum)),
            jain: first(|g| g.jain, &long),
            fct_ms_mean: first(|g| g.fct_ms.mean, &short),
            fct_ms_p50: first(|g| g.fct_ms.p50, &short),
            fct_ms_p99: first(|g| g.fct_ms.p99, &short),
            unfinished: all().map(|g| g.unfinished).sum(),
            rto_count: all().map(|g| g.rto_count).sum(),
            retx_bytes: all().map(|g| g.retx_bytes).sum(),
        })
    }
}

fn answered(question: &ShareQuestion, manifest: &Manifest, results: &Results) -> ShareAnswer {
    let mut points = Vec::new();
    for runs in results.runs.chunk_by(|a, b| a.key.point == b.key.point) {
        let [first, ..] = runs else { continue };
        let moved = first.key.point.get(MOVED).and_then(|m| m.parse().ok()).unwrap_or(0);
        let runs: Vec<&RunFacts> = runs.iter().collect();
        points.push(SharePoint {
            moved_hosts: moved,
            stayed: ShareClass::new(CLASSES[0], question.hosts.saturating_sub(moved), &runs),
            moved: ShareClass::new(CLASSES[1], moved, &runs),
            queue: Queue::new(&runs),
        });
    }
    ShareAnswer {
        schema: "lowtide.share/1",
        version: manifest.version.clone(),
        scenario: manifest.scenario.clone(),
        scenario_hash: manifest.scenario_hash.clone(),
        digest: results.digest.clone(),
        from: question.stayed.clone(),
        to: question.moved.clone(),
        moves: question.moves,
        hosts: question.hosts,
        seeds: manifest.seeds.len(),
        points,
    }
}

/// Writes `share.json`, the figures and the report.
pub(crate) fn present(
    question: &ShareQuestion,
    dir: &RunDir,
    manifest: &Manifest,
    results: &Results,
) -> Result<(Vec<String>, ShareAnswer), LabError> {
    let answer = answered(question, manifest, results);
    dir.write("share.json", &json(&answer)?)?;
    let figures: Vec<Drawn> = figures(&answer)
        .into_iter()
        .map(|f| Ok(Drawn { svg: to_svg(&f)?, csv: f.to_csv(), id: f.id, caption: f.caption }))
        .collect::<Result<_, LabError>>()?;
    let section = Section {
        title: "What each class gains and loses".to_owned(),
        text: String::new(),
        figures,
        tables: vec![table(&answer)],
    };
    let seeds = if answer.seeds == 1 { "seed" } else { "seeds" };
    let ends = match answer.moves {
        Move::Both => "senders and receivers move",
        Move::Senders => "only senders move",
        Move::Receivers => "only receivers move",
    };
    let frame = Frame {
        lead: format!("{} hosts \u{b7} {ends} \u{b7} {} {seeds} each", answer.hosts, answer.seeds),
        same: Vec::new(),
        findings: Vec::new(),
        thresholds: None,
        place: "With all hosts moved.".to_owned(),
    };
    let mut files = page::page(dir, manifest, &frame, &[section])?;
    files.push("share.json".to_owned());
    Ok((files, answer))
}

fn show(value: Option<f64>) -> String {
    value.map_or_else(|| "\u{2013}".to_owned(), |v| number((v * 1000.0).round() / 1000.0))
}

/// Head of the table of an answer.
pub fn head(answer: &ShareAnswer) -> Vec<String> {
    let (from, to) = (&answer.from, &answer.to);
    vec![
        "moved".to_owned(),
        format!("{from}: Mbit/s per host"),
        format!("{to}: Mbit/s per host"),
        format!("{from}: FCT ms mean, p50, p99"),
        format!("{to}: FCT ms mean, p50, p99"),
        "queue p50, p99".to_owned(),
        "marks".to_owned(),
        "drops".to_owned(),
    ]
}

/// One line per number of hosts moved, for the text and the page.
pub fn rows(answer: &ShareAnswer) -> Vec<Vec<String>> {
    let goodput = |c: &Option<ShareClass>| show(c.as_ref().and_then(|c| c.goodput_mbps_per_host));
    let fct = |c: &Option<ShareClass>| match c {
        None => show(None),
        Some(c) => [c.fct_ms_mean, c.fct_ms_p50, c.fct_ms_p99].map(show).join(", "),
    };
    answer
        .points
        .iter()
        .map(|p| {
            vec![
                format!("{} of {}", p.moved_hosts, answer.hosts),
                goodput(&p.stayed),
                goodput(&p.moved),
                fct(&p.stayed),
                fct(&p.moved),
                format!("{}, {}", show(p.queue.p50_packets), show(p.queue.p99_packets)),
                p.queue.marks.to_string(),
                p.queue.drops.to_string(),
            ]
        })
        .collect()
}

fn table(answer: &ShareAnswer) -> Table {
    Table {
        title: "Numbers".to_owned(),
        head: head(answer),
        names: 1,
        rows: rows(answer),
        folded: false,
    }
}

/// One value of a point, by class.
type Read = fn(&ShareClass) -> Option<f64>;

fn figures(answer: &ShareAnswer) -> Vec<Figure> {
    let by_class: [(&str, &str, &str, Read); 3] = [
        ("goodput", "Goodput per host (Mbit/s)", "goodput_mbps", |c| c.goodput_mbps_per_host),
        ("fct-mean", "Mean transfer time of short flows (ms)", "fct_ms", |c| c.fct_ms_mean),
        ("fct-p99", "99th percentile of it (ms)", "fct_ms_p99", |c| c.fct_ms_p99),
    ];
    let mut out: Vec<Figure> = by_class
        .into_iter()
        .filter_map(|(id, label, column, read)| {
            let class = |i: usize, of: fn(&SharePoint) -> Option<&ShareClass>| {
                let name = if i == 0 { &answer.from } else { &answer.to };
                let role = ["stayed", "moved"][i];
                series(answer, i, &format!("{name} ({role})"), &|p| of(p).and_then(read))
            };
            let series = vec![class(0, |p| p.stayed.as_ref()), class(1, |p| p.moved.as_ref())];
            figure(answer, id, [label, column], series)
        })
        .collect();
    let queue = vec![
        series(answer, 2, "median", &|p| p.queue.p50_packets),
        series(answer, 3, "99th percentile", &|p| p.queue.p99_packets),
    ];
    out.extend(figure(
        answer,
        "queue",
        ["Queue at the bottleneck (packets)", "queue_packets"],
        queue,
    ));
    out
}

fn series(
    answer: &ShareAnswer,
    style: usize,
    name: &str,
    read: &dyn Fn(&SharePoint) -> Option<f64>,
) -> Series {
    let dot = |p: &SharePoint| Some(Dot::new(f64::from(p.moved_hosts), read(p)?));
    Series {
        scheme: name.to_owned(),
        part: String::new(),
        style,
        look: Look::Measured,
        points: answer.points.iter().filter_map(dot).collect(),
    }
}

fn figure(
    answer: &ShareAnswer,
    id: &str,
    [label, column]: [&str; 2],
    series: Vec<Series>,
) -> Option<Figure> {
    let values: Vec<f64> = series.iter().flat_map(|s| &s.points).map(|p| p.y).collect();
    if values.is_empty() {
        return None;
    }
    let hosts = f64::from(answer.hosts);
    let mut x = Axis::linear("Hosts moved", "hosts_moved", 0.0, hosts);
    (x.low, x.high) = (-0.03 * hosts, 1.03 * hosts);
    x.ticks.retain(|(at, _)| at.fract() == 0.0);
    Some(Figure {
        id: id.to_owned(),
        title: format!("{label}, moving from {} to {}", answer.from, answer.to),
        caption: match answer.seeds {
            1 => "One seed.".to_owned(),
            n => format!("Mean over {n} seeds."),
        },
        legend: series.iter().map(|s| (s.scheme.clone(), s.style)).collect(),
        panels: vec![Panel {
            title: String::new(),
            x,
            y: Axis::fitting(label, column, &values),
            series,
            rules: Vec::new(),
            shade: None,
        }],
    })
}
