//! The tails of one experiment agree in the terminal, the report, `summary.json` and `tails.csv`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use lowtide_lab::interval_text;
use lowtide_stats::significant;
use serde_json::Value;

const PERCENTILES: [(&str, &str); 4] =
    [("p50", "p50"), ("p95", "p95"), ("p99", "p99"), ("p999", "p99.9")];

/// One percentile: its value, its bounds, its interval, the range of its seeds, and the reason of
/// what is absent.
#[derive(Clone, PartialEq, Debug)]
struct Tail {
    numbers: [Option<f64>; 7],
    note: Option<String>,
}

/// Scheme, point, group, class, metric and percentile.
type Key = [String; 6];

impl Tail {
    /// Whether the values agree. `serde_json` reads a number with an error of one unit in the last
    /// place.
    fn equals(&self, other: &Self) -> bool {
        let close = |(a, b): (&Option<f64>, &Option<f64>)| match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() <= 2.0 * f64::EPSILON * a.abs(),
            (a, b) => a == b,
        };
        self.numbers.iter().zip(&other.numbers).all(close) && self.note == other.note
    }

    fn value(&self) -> Option<f64> {
        self.numbers[0]
    }

    fn bounds(&self) -> [Option<f64>; 2] {
        [self.numbers[1], self.numbers[2]]
    }

    fn interval(&self) -> Option<[f64; 2]> {
        self.numbers[3].zip(self.numbers[4]).map(|(low, high)| [low, high])
    }

    fn seeds(&self) -> Option<[f64; 2]> {
        self.numbers[5].zip(self.numbers[6]).map(|(low, high)| [low, high])
    }

    /// The value as people read it, or its bounds; `None` without either.
    fn shown_value(&self) -> Option<String> {
        match (self.value(), self.bounds()) {
            (Some(value), _) => Some(significant(value)),
            (None, [Some(low), Some(high)]) => {
                Some(format!("{} to {}", significant(low), significant(high)))
            }
            (None, [Some(low), None]) => Some(format!("at least {}", significant(low))),
            _ => None,
        }
    }

    fn shown_interval(&self) -> Option<String> {
        let range = |ends| interval_text(Some(ends), None);
        let seeds = || self.seeds().map(|ends| format!("[{}]", range(ends)));
        self.interval().map(range).or_else(seeds)
    }
}

fn lowtide(folder: &Path, case: &[&str], more: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
    command.args(["run", "leaf-spine", "--over", "switch.mark.k=20 pkt,65 pkt"]);
    command.args(["-s", "traffic.background.flows=160", "-o", "out", "-q"]);
    let output = command.args(case).args(more).current_dir(folder).output().expect("lowtide");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn from_json(text: &str) -> BTreeMap<Key, (Tail, Value)> {
    let whole: Value = serde_json::from_str(text).expect("JSON");
    let mut out = BTreeMap::new();
    for row in whole["tails"].as_array().expect("tails") {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let point = row["point"]["switch.mark.k"].as_str().expect("a point").to_owned();
        for (key, name) in PERCENTILES {
            let of = &row[key];
            let end = |range: &str, i: usize| of[range][i].as_f64();
            let numbers = [
                of["value"].as_f64(),
                end("between", 0),
                end("between", 1),
                end("ci95", 0),
                end("ci95", 1),
                end("seed_range", 0),
                end("seed_range", 1),
            ];
            let tail = Tail { numbers, note: of["note"].as_str().map(str::to_owned) };
            let key = [
                text("scheme"),
                point.clone(),
                text("group"),
                text("class"),
                text("metric"),
                name.to_owned(),
            ];
            out.insert(key, (tail, row.clone()));
        }
    }
    out
}

fn from_csv(text: &str) -> BTreeMap<Key, Tail> {
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().expect("a head");
    let at = |name: &str| head.iter().position(|h| *h == name).expect(name);
    let keys = ["scheme", "switch.mark.k", "group", "class", "metric", "percentile"].map(at);
    let columns =
        ["value", "least", "most", "ci95_low", "ci95_high", "seeds_low", "seeds_high"].map(at);
    lines
        .map(|line| {
            let numbers = columns.map(|i| line[i].parse::<f64>().ok());
            let rest = line[at("note")..].join(",");
            let note = rest.trim_matches('"');
            let note = (!note.is_empty()).then(|| note.to_owned());
            (keys.map(|i| line[i].to_owned()), Tail { numbers, note })
        })
        .collect()
}

/// The characters of `line` in these columns, without spaces around them.
fn cell(line: &str, [from, to]: [usize; 2]) -> String {
    let text: String = line.chars().take(to).skip(from).collect();
    text.trim().to_owned()
}

/// The cells of the four percentiles of a row in its table, the lines of each joined.
fn terminal_row(text: &str, row: &Value) -> Vec<String> {
    let of = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let point = row["point"]["switch.mark.k"].as_str().expect("a point");
    let metric = match of("metric").as_str() {
        "slowdown" => "slowdown",
        "qct_ms" => "query completion time",
        _ => "completion time, ms",
    };
    let (group, queries) = (of("group"), of("metric") == "qct_ms");
    let starts = |line: &&str| {
        line.starts_with(&format!("{group}: {metric}"))
            && (queries || line.contains(&format!("K = {point}")))
    };
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(starts).unwrap_or_else(|| panic!("{group} {metric}"));
    // Columns of numbers end where their heads end.
    let head = lines[first + 1];
    let ends = ["flows", "p50", "p95", "p99 ", "p99.9"]
        .map(|name| head.find(name).expect(name) + name.trim_end().len());
    let schemes = [head.find("scheme").expect("scheme"), head.find("flows").expect("flows") - 1];
    let class =
        if queries { point.to_owned() } else { row["class"].as_str().unwrap_or("all").to_owned() };
    let is_class = |line: &&&str| cell(line, [0, schemes[0]]) == class;
    let mut block = lines[first + 2..].iter().skip_while(|line| !is_class(line));
    let scheme = of("scheme");
    let own = block.find(|line| cell(line, schemes) == scheme).expect("the scheme");
    let more = block.take_while(|line| cell(line, [0, schemes[1]]).is_empty());
    let own: Vec<&&str> = std::iter::once(own).chain(more).collect();
    ends.windows(2)
        .map(|ends| {
            let cells: Vec<String> =
                own.iter().map(|line| cell(line, [ends[0], ends[1]])).collect();
            cells.join(" ").trim().to_owned()
        })
        .collect()
}

/// The cells of the tables of tails of a page, by metric and group, then by row.
fn page_rows(page: &str) -> Vec<(String, Vec<String>)> {
    let mut rows = Vec::new();
    for table in page.split("<h3>").skip(1) {
        let title = table.split("</h3>").next().unwrap_or_default();
        let Some(title) = title.strip_prefix("Tail of the ") else { continue };
        for row in table.split("<tr>").skip(2) {
            let cells = row.split("</td>").filter_map(|c| c.split_once("<td")?.1.split_once('>'));
            let cells = cells.map(|(_, text)| text.to_owned());
            rows.push((title.to_owned(), cells.collect()));
        }
    }
    rows
}

/// Compares all outputs of a case; returns its rows.
fn agreeing(case: &[&str]) -> Vec<Tail> {
    let folder = tempfile::tempdir().expect("a folder");
    let text = lowtide(folder.path(), case, &[]);
    let json = lowtide(folder.path(), case, &["--json"]);
    let read = |name: &str| fs::read_to_string(folder.path().join("out").join(name)).expect(name);

    let tails = from_json(&json);
    let written = from_json(&read("summary.json"));
    assert!(tails == written, "summary.json is not the output of --json");
    let csv = from_csv(&read("tails.csv"));
    assert!(tails.keys().eq(csv.keys()), "they have different rows");
    for (key, (tail, _)) in &tails {
        assert!(tail.equals(&csv[key]), "{key:?}: {tail:?} is not {:?}", csv[key]);
    }
    let absent = csv.values().filter(|tail| tail.value().is_none());
    assert!(absent.clone().count() > 0 && absent.into_iter().all(|tail| tail.note.is_some()));

    let page = page_rows(&read("report.html"));
    let mut compared = 0;
    for (key, (_, row)) in &tails {
        let [scheme, point, group, class, metric, name] = key;
        if name != "p50" {
            continue;
        }
        let percentiles = PERCENTILES.map(|(_, name)| {
            let mut of = key.clone();
            name.clone_into(&mut of[5]);
            &tails[&of].0
        });
        let shown = percentiles.map(|tail| match (tail.shown_value(), tail.shown_interval()) {
            (Some(value), Some(interval)) => format!("{value} {interval}"),
            (value, _) => value.unwrap_or_else(|| "\u{2013}".to_owned()),
        });
        assert_eq!(terminal_row(&text, row), shown, "{row:#}\n{text}");
        let title = match metric.as_str() {
            "slowdown" => format!("slowdown of group {group}"),
            "qct_ms" => format!("query completion time of group {group} (ms)"),
            _ => format!("completion time of group {group} (ms)"),
        };
        let size = if class.is_empty() { "all" } else { class };
        let found = page.iter().find(|(of, cells)| {
            *of == title && cells[0] == *point && cells[1] == size && cells[2] == *scheme
        });
        let (_, cells) = found.unwrap_or_else(|| panic!("{title}, {point}, {size}, {scheme}"));
        // The page has the reason in place of an absent value.
        let shown = percentiles.map(|tail| match (tail.shown_value(), tail.shown_interval()) {
            (Some(value), Some(seeds)) if seeds.starts_with('[') => format!("{value} {seeds}"),
            (Some(value), Some(interval)) => format!("{value} ({interval})"),
            (value, _) => value.or(tail.note.clone()).expect("a reason"),
        });
        assert_eq!(cells[6..10], shown, "{cells:?}");
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
    for line in text.lines().filter(|line| !line.starts_with("ran ")) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    csv.into_values().collect()
}

#[test]
fn terminal_page_json_and_csv_agree() {
    let rows = agreeing(&["--seeds", "5"]);
    let known = rows.iter().filter(|tail| tail.value().is_some()).count();
    let intervals = rows.iter().filter(|tail| tail.interval().is_some()).count();
    assert!(known > 40 && intervals > 20, "{known} values, {intervals} intervals");
    assert!(rows.iter().all(|tail| tail.seeds().is_none()), "five seeds have intervals");
}

#[test]
fn they_agree_about_few_seeds_and_cut_off_flows() {
    let cut = ["-s", "run.duration=8 ms", "-s", "run.end=duration"];
    let rows = agreeing(&[&["--seeds", "3"][..], &cut].concat());
    assert!(rows.iter().all(|tail| tail.interval().is_none()), "three seeds have ranges");
    let ranges = rows.iter().filter(|tail| tail.seeds().is_some()).count();
    let bounded = |most: bool| {
        let of = |tail: &&Tail| tail.bounds()[0].is_some() && tail.bounds()[1].is_some() == most;
        rows.iter().filter(of).count()
    };
    assert!(ranges > 10 && bounded(false) > 10 && bounded(true) > 10, "{ranges} ranges");
}
