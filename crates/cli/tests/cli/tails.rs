//! The tails of one experiment agree in the terminal, the report, `summary.json` and `tails.csv`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use lowtide_lab::range;
use lowtide_stats::significant;
use serde_json::Value;

const PERCENTILES: [(&str, &str); 4] =
    [("p50", "p50"), ("p95", "p95"), ("p99", "p99"), ("p999", "p99.9")];

/// One percentile: its value, its interval, and the reason of what is absent.
#[derive(Clone, PartialEq, Debug)]
struct Tail {
    value: Option<f64>,
    ci95: Option<[f64; 2]>,
    note: Option<String>,
}

/// Scheme, point, group, class, metric and percentile.
type Key = [String; 6];

impl Tail {
    /// Whether the values agree. `serde_json` reads a number with an error of one unit in the last
    /// place.
    fn equals(&self, other: &Self) -> bool {
        let close = |a: f64, b: f64| (a - b).abs() <= 2.0 * f64::EPSILON * a.abs();
        let values = match (self.value, other.value) {
            (Some(a), Some(b)) => close(a, b),
            (a, b) => a == b,
        };
        let intervals = match (self.ci95, other.ci95) {
            (Some(a), Some(b)) => close(a[0], b[0]) && close(a[1], b[1]),
            (a, b) => a == b,
        };
        values && intervals && self.note == other.note
    }
}

fn lowtide(folder: &Path, more: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
    command.args(["run", "leaf-spine", "--over", "switch.mark.k=20 pkt,65 pkt", "--seeds", "3"]);
    command.args(["-s", "traffic.background.flows=160", "-o", "out", "-q"]);
    let output = command.args(more).current_dir(folder).output().expect("lowtide");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64()
}

fn from_json(text: &str) -> BTreeMap<Key, (Tail, Value)> {
    let whole: Value = serde_json::from_str(text).expect("JSON");
    let mut out = BTreeMap::new();
    for row in whole["tails"].as_array().expect("tails") {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let point = row["point"]["switch.mark.k"].as_str().expect("a point").to_owned();
        for (key, name) in PERCENTILES {
            let of = &row[key];
            let ci95 =
                of["ci95"].as_array().map(|ci| [0, 1].map(|i| ci[i].as_f64().expect("a number")));
            let note = of["note"].as_str().map(str::to_owned);
            let tail = Tail { value: number(&of["value"]), ci95, note };
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
    let columns = ["value", "ci95_low", "ci95_high"].map(at);
    lines
        .map(|line| {
            let [value, low, high] = columns.map(|i| line[i].parse::<f64>().ok());
            let rest = line[at("note")..].join(",");
            let note = rest.trim_matches('"');
            let note = (!note.is_empty()).then(|| note.to_owned());
            let ci95 = low.zip(high).map(|(low, high)| [low, high]);
            (keys.map(|i| line[i].to_owned()), Tail { value, ci95, note })
        })
        .collect()
}

/// The values and intervals of a row as terminal and report show them.
fn shown(row: &Value) -> (Vec<String>, Vec<String>) {
    let (mut values, mut ranges) = (Vec::new(), Vec::new());
    for (key, _) in PERCENTILES {
        values.extend(number(&row[key]["value"]).map(significant));
        let ci95 = row[key]["ci95"].as_array();
        ranges.extend(ci95.map(|ci| range([0, 1].map(|i| ci[i].as_f64().expect("a number")))));
    }
    (values, ranges)
}

/// The lines of the table of a row, from its scheme on: the values, and the intervals below.
fn terminal_row(text: &str, row: &Value) -> (Vec<String>, Vec<String>) {
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
    let class =
        if queries { point.to_owned() } else { row["class"].as_str().unwrap_or("all").to_owned() };
    let block = lines[first + 1..].iter().skip(2);
    let mut block = block.skip_while(|line| !line.starts_with(&class));
    let scheme = of("scheme");
    let is_scheme = |line: &&&str| line.split_whitespace().any(|word| word == scheme);
    let line = block.find(is_scheme).expect("the scheme");
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let values = words(line.rsplit_once(&scheme).expect("the scheme").1);
    let values = values.into_iter().skip(1).take_while(|word| word != "needs").collect();
    let ranges = block.next().map_or_else(Vec::new, |next| {
        words(next).into_iter().filter(|word| word.contains('\u{2013}')).collect()
    });
    (values, ranges)
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

#[test]
fn terminal_page_json_and_csv_agree() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = lowtide(folder.path(), &[]);
    let json = lowtide(folder.path(), &["--json"]);
    let read = |name: &str| fs::read_to_string(folder.path().join("out").join(name)).expect(name);

    let tails = from_json(&json);
    let written = from_json(&read("summary.json"));
    assert!(tails == written, "summary.json is not the output of --json");
    let csv = from_csv(&read("tails.csv"));
    assert!(tails.keys().eq(csv.keys()), "they have different rows");
    for (key, (tail, _)) in &tails {
        assert!(tail.equals(&csv[key]), "{key:?}: {tail:?} is not {:?}", csv[key]);
    }
    let known = csv.values().filter(|tail| tail.value.is_some()).count();
    let intervals = csv.values().filter(|tail| tail.ci95.is_some()).count();
    assert!(known > 40 && intervals > 20, "{known} values, {intervals} intervals");
    let absent = csv.values().filter(|tail| tail.value.is_none());
    assert!(absent.clone().count() > 0 && absent.into_iter().all(|tail| tail.note.is_some()));

    let page = page_rows(&read("report.html"));
    let mut compared = 0;
    for ([scheme, point, group, class, metric, name], (_, row)) in &tails {
        if name != "p50" {
            continue;
        }
        let (values, ranges) = shown(row);
        assert_eq!(terminal_row(&text, row), (values.clone(), ranges.clone()), "{row:#}\n{text}");
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
        let known: Vec<&String> =
            cells[6..].iter().filter(|c| c.starts_with(|c: char| c.is_ascii_digit())).collect();
        let of_page: Vec<String> =
            known.iter().map(|c| c.split(' ').next().unwrap_or_default().to_owned()).collect();
        assert_eq!(of_page, values, "{cells:?}");
        for range in &ranges {
            assert!(cells[6..].iter().any(|c| c.contains(&format!("({range})"))), "{cells:?}");
        }
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
    for line in text.lines().filter(|line| !line.starts_with("ran ")) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}
