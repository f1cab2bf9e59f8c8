//! Writes the output of `lowtide papers reproduce --json` into the files of claims.
//!
//! Contract: only `recorded` is changed, and only for claims in the output. A recorded claim keeps
//! its record unless `--again` is given. A claim that was not reproduced is recorded only if its
//! file states the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Deserialize;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value};

use crate::arguments::Arguments;

/// Confidence level of verdicts but those of further looks.
const USUAL_LEVEL: f64 = 0.95;

/// Options of the chore.
#[derive(Debug)]
pub(crate) struct RecordTask {
    file: String,
    again: bool,
}

#[derive(Deserialize)]
struct ReproduceOutput {
    schema: String,
    quick: bool,
    claims: Vec<Claim>,
    varied: Vec<Varied>,
}

#[derive(Deserialize)]
struct Claim {
    /// `od-fig5.1/window`.
    id: String,
    verdict: String,
    measured: Option<f64>,
    ci95: Option<[f64; 2]>,
    /// Seeds and confidence level of the verdict.
    seeds: usize,
    level: f64,
}

#[derive(Deserialize)]
struct Varied {
    vary: String,
    value: String,
    #[serde(flatten)]
    claim: Claim,
}

/// Result of the chore.
#[derive(Default)]
struct Summary {
    written: usize,
    kept: Vec<String>,
    unexplained: Vec<String>,
}

impl RecordTask {
    /// Reads the options.
    pub(crate) fn read(arguments: &[String]) -> Result<Self, String> {
        let a = Arguments::read(arguments, &["--again"])?;
        let file = a
            .word
            .clone()
            .ok_or("record needs a file with the output of `lowtide papers reproduce --json`")?;
        Ok(Self { file, again: a.has("--again") })
    }

    /// Writes the records and prints the claims that were left out.
    pub(crate) fn run(&self, root: &Path) -> ExitCode {
        match self.write(&root.join("papers")) {
            Ok(done) => {
                println!("{} recorded", done.written);
                for id in &done.kept {
                    println!("kept {id}: it is recorded already (`--again` overwrites it)");
                }
                for id in &done.unexplained {
                    println!("left {id}: its file must say why first (`reason`)");
                }
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        }
    }

    fn write(&self, papers: &Path) -> Result<Summary, String> {
        let text = read(Path::new(&self.file))?;
        let answer: ReproduceOutput = serde_json::from_str(&text)
            .ok()
            .filter(|a: &ReproduceOutput| a.schema == "lowtide.reproduce/3")
            .ok_or_else(|| {
                format!("{} is not output of `lowtide papers reproduce --json`", self.file)
            })?;
        if answer.quick && answer.varied.is_empty() {
            return Err("results of a quick run are not recorded: run it in full".to_owned());
        }
        let mut files: BTreeMap<PathBuf, (Vec<&Claim>, Vec<&Varied>)> = BTreeMap::new();
        // Variations are identical in both forms.
        for claim in answer.claims.iter().filter(|_| !answer.quick) {
            files.entry(place(papers, &claim.id)?).or_default().0.push(claim);
        }
        for varied in &answer.varied {
            files.entry(place(papers, &varied.claim.id)?).or_default().1.push(varied);
        }
        let mut done = Summary::default();
        // All files are prepared before the first is written.
        let mut made = Vec::new();
        for (path, (claims, varied)) in files {
            let parsed = read(&path)?.parse::<DocumentMut>();
            let mut document = parsed.map_err(|e| format!("{}: {e}", path.display()))?;
            let all = self.claims(&mut document, &claims, &mut done);
            all.and_then(|()| self.varied(&mut document, &varied, &mut done))
                .map_err(|e| format!("{}: {e}", path.display()))?;
            made.push((path, document.to_string()));
        }
        for (path, text) in made {
            replace(&path, &text)?;
        }
        Ok(done)
    }

    fn claims(
        &self,
        document: &mut DocumentMut,
        claims: &[&Claim],
        done: &mut Summary,
    ) -> Result<(), String> {
        for claim in claims {
            let table = named(document, "claim", |t| id(t) == short(&claim.id))?;
            if table.contains_key("recorded") && !self.again {
                done.kept.push(claim.id.clone());
            } else if claim.verdict != "reproduced" && !table.contains_key("reason") {
                done.unexplained.push(claim.id.clone());
            } else {
                insert_before(table, "measure", Value::InlineTable(recorded(claim)));
                done.written += 1;
            }
        }
        Ok(())
    }

    /// Writes all values of one variation at once, in the order of the output.
    fn varied(
        &self,
        document: &mut DocumentMut,
        varied: &[&Varied],
        done: &mut Summary,
    ) -> Result<(), String> {
        let names: BTreeSet<&str> = varied.iter().map(|v| v.vary.as_str()).collect();
        for name in names {
            let table = named(document, "vary", |t| id(t) == name)?;
            if table.contains_key("recorded") && !self.again {
                done.kept.push(format!("the variation {name}"));
                continue;
            }
            let here: Vec<&Varied> = varied.iter().copied().filter(|v| v.vary == name).collect();
            let mut values: Vec<&str> = Vec::new();
            for v in &here {
                if !values.contains(&v.value.as_str()) {
                    values.push(&v.value);
                }
            }
            let mut all = Array::new();
            for value in values {
                let mut measured = InlineTable::new();
                for v in here.iter().filter(|v| v.value == value) {
                    if let Some(value) = v.claim.measured {
                        measured.insert(short(&v.claim.id), number(value));
                    }
                }
                let mut seen = InlineTable::new();
                seen.insert("at", value.into());
                seen.insert("measured", Value::InlineTable(measured));
                all.push_formatted(Value::InlineTable(seen).decorated("\n  ", ""));
                done.written += 1;
            }
            all.set_trailing("\n");
            all.set_trailing_comma(true);
            insert_before(table, "", Value::Array(all));
        }
        Ok(())
    }
}

/// Writes a file whole, or not at all.
fn replace(path: &Path, text: &str) -> Result<(), String> {
    let growing = path.with_extension("toml.tmp");
    std::fs::write(&growing, text)
        .and_then(|()| std::fs::rename(&growing, path))
        .map_err(|e| format!("{}: {e}", path.display()))
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// File of a claim: `dctcp-fig18/low` is in `dctcp/fig18.expected.toml`.
fn place(papers: &Path, id: &str) -> Result<PathBuf, String> {
    let row = id.rsplit_once('/').and_then(|(row, _)| row.split_once('-'));
    let (paper, name) = row.ok_or_else(|| format!("`{id}` is not a claim"))?;
    Ok(papers.join(paper).join(format!("{name}.expected.toml")))
}

fn short(id: &str) -> &str {
    id.rsplit_once('/').map_or(id, |(_, claim)| claim)
}

fn id(table: &Table) -> &str {
    table.get("id").and_then(Item::as_str).unwrap_or_default()
}

/// The single matching table; no match or several mean that the output is for another version of
/// the file.
fn named<'a>(
    document: &'a mut DocumentMut,
    kind: &str,
    is: impl Fn(&Table) -> bool,
) -> Result<&'a mut Table, String> {
    let all = document.get_mut(kind).and_then(Item::as_array_of_tables_mut);
    let mut fit: Vec<_> =
        all.into_iter().flat_map(ArrayOfTables::iter_mut).filter(|t| is(t)).collect();
    match (fit.pop(), fit.is_empty()) {
        (Some(table), true) => Ok(table),
        (Some(_), false) => Err(format!("several `[[{kind}]]` match the answer")),
        (None, _) => Err(format!("no `[[{kind}]]` matches the answer")),
    }
}

/// Rounds to readable precision; whole numbers without a decimal point.
fn number(value: f64) -> Value {
    let rounded: f64 = format!("{value:.4e}").parse().unwrap_or(value);
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
        (rounded as i64).into()
    } else {
        rounded.into()
    }
}

fn recorded(claim: &Claim) -> InlineTable {
    let mut out = InlineTable::new();
    out.insert("verdict", claim.verdict.as_str().into());
    if let Some(measured) = claim.measured {
        out.insert("measured", number(measured));
    }
    if let Some(ends) = claim.ci95 {
        out.insert("ci95", Value::Array(ends.into_iter().map(number).collect()));
    }
    if claim.level > USUAL_LEVEL {
        let mut further = InlineTable::new();
        further.insert("seeds", number(claim.seeds as f64));
        further.insert("level", number(claim.level));
        out.insert("further", further.into());
    }
    out
}

/// Inserts `recorded` before the key `before`, or last.
fn insert_before(table: &mut Table, before: &str, recorded: Value) {
    let place = |key: &str| table.iter().position(|(k, _)| k == key);
    let Some(at) = place(before).filter(|_| !table.contains_key("recorded")) else {
        table.insert("recorded", Item::Value(recorded));
        return;
    };
    let rest: Vec<String> = table.iter().skip(at).map(|(k, _)| k.to_owned()).collect();
    let moved: Vec<_> = rest.iter().filter_map(|k| table.remove_entry(k)).collect();
    table.insert("recorded", Item::Value(recorded));
    for (key, item) in moved {
        table.insert_formatted(&key, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# Why this is here.
title = \"x\"

# Of the first claim.
[[claim]]
id = \"one\"
says = \"a\"
measure = { queue = \"q\", at = { k = \"1 pkt\" } } # as drawn

[[claim]]
id = \"two\"
reason = \"because\"
recorded = { verdict = \"undecided\" }
measure = 2

[[claim]]
id = \"three\"
measure = 3

[[vary]]
id = \"open\"
key = \"a.b\"
";

    fn answer(quick: bool) -> String {
        format!(
            r#"{{"schema":"lowtide.reproduce/3","quick":{quick},"claims":[
            {{"id":"od-fig5.1/one","verdict":"reproduced","measured":12.345678,"ci95":[12.0,13.5],"seeds":5,"level":0.95}},
            {{"id":"od-fig5.1/two","verdict":"not-reproduced","measured":3.0,"ci95":[2.0,4.0],"seeds":20,"level":0.975}},
            {{"id":"od-fig5.1/three","verdict":"not-reproduced","measured":3.0,"ci95":null,"seeds":5,"level":0.95}}],
            "varied":[{{"vary":"open","value":"1 us","id":"od-fig5.1/one","verdict":"reproduced","measured":1.5,"ci95":null,"seeds":5,"level":0.95}},
            {{"vary":"open","value":"2 us","id":"od-fig5.1/one","verdict":"undecided","measured":null,"ci95":null,"seeds":5,"level":0.95}},
            {{"vary":"open","value":"1 us","id":"od-fig5.1/two","verdict":"reproduced","measured":7.0,"ci95":null,"seeds":5,"level":0.95}}]}}"#
        )
    }

    fn setup(quick: bool) -> (tempfile::TempDir, PathBuf, String) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("od")).unwrap();
        let file = dir.path().join("od/fig5.1.expected.toml");
        std::fs::write(&file, FILE).unwrap();
        let printed = dir.path().join("answer.json");
        std::fs::write(&printed, answer(quick)).unwrap();
        (dir, file, printed.display().to_string())
    }

    #[test]
    fn recording_leaves_the_rest_of_the_file_unchanged() {
        let (dir, file, printed) = setup(false);
        let done = RecordTask { file: printed, again: false }.write(dir.path()).unwrap();
        assert_eq!((done.written, done.kept.len(), done.unexplained.len()), (3, 1, 1));
        let line = "recorded = { verdict = \"reproduced\", measured = 12.346, ci95 = [12, 13.5] }\nmeasure = { queue";
        let expected = FILE.replacen("measure = { queue", line, 1)
            + "recorded = [\n  { at = \"1 us\", measured = { one = 1.5, two = 7 } },\n  { at = \"2 us\", measured = {} },\n]\n";
        assert_eq!(read(&file).unwrap(), expected);
    }

    #[test]
    fn again_overwrites_a_record_in_place() {
        let (dir, file, printed) = setup(false);
        RecordTask { file: printed, again: true }.write(dir.path()).unwrap();
        let text = read(&file).unwrap();
        assert!(
            text.contains(
                "recorded = { verdict = \"not-reproduced\", measured = 3, ci95 = [2, 4], \
                 further = { seeds = 20, level = 0.975 } }\nmeasure = 2\n"
            ),
            "{text}"
        );
        assert!(!text.contains("undecided"), "{text}");
    }

    #[test]
    fn incomplete_results_change_nothing() {
        let (dir, file, printed) = setup(true);
        let none = read(Path::new(&printed)).unwrap();
        let none = none.split_once("\"varied\"").unwrap().0.to_owned() + "\"varied\":[]}";
        std::fs::write(&printed, none).unwrap();
        let plan = |file: &str| RecordTask { file: file.to_owned(), again: true };
        assert!(plan(&printed).write(dir.path()).is_err_and(|e| e.contains("in full")));
        assert!(
            plan(&file.display().to_string())
                .write(dir.path())
                .is_err_and(|e| e.contains("--json"))
        );
        assert_eq!(read(&file).unwrap(), FILE);
    }

    #[test]
    fn quick_results_record_variations_only() {
        let (dir, file, printed) = setup(true);
        let done = RecordTask { file: printed, again: true }.write(dir.path()).unwrap();
        assert_eq!(done.written, 2);
        let line = "recorded = [\n  { at = \"1 us\", measured = { one = 1.5, two = 7 } },\n  { at = \"2 us\", measured = {} },\n]\n";
        assert_eq!(read(&file).unwrap(), FILE.to_owned() + line);
    }

    #[test]
    fn results_for_another_version_of_the_file_change_nothing() {
        let (dir, file, printed) = setup(false);
        for (from, to, why) in [
            ("id = \"two\"", "id = \"four\"", "no `[[claim]]`"),
            ("\"three\"", "\"one\"", "several"),
        ] {
            let other = FILE.replace(from, to);
            std::fs::write(&file, &other).unwrap();
            let result = RecordTask { file: printed.clone(), again: true }.write(dir.path());
            assert!(result.is_err_and(|e| e.contains(why)), "{to}");
            assert_eq!(read(&file).unwrap(), other);
        }
    }
}
