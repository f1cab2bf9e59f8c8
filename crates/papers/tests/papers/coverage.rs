//! `docs/evidence/coverage.md`: its places exist, and every experiment has a claim on it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use lowtide_papers::{Experiment, ExperimentClaims, experiments};

const PAGE: &str = "docs/evidence/coverage.md";

/// First row of the tables of statements.
const HEADER: &str = "| section | statement | kind | where |";

const KINDS: [&str; 5] = ["mechanism", "claim", "measurement", "parameter", "argument"];

/// Beginning of a place that is a reason.
const ABSENT: &str = "not here: ";

/// Reasons, each followed by an explanation.
const REASONS: [&str; 6] = [
    "out of scope: ",
    "no data: ",
    "planned: ",
    "could be built: high value: ",
    "could be built: medium value: ",
    "could be built: low value: ",
];

/// Folders in which paths of the page begin.
const FOLDERS: [&str; 4] = ["crates/", "docs/", "papers/", "kernel/"];

/// Pages that name measures, commands and traffic.
const REFERENCE: [&str; 4] = [
    "docs/reference/deviations.md",
    "docs/reference/features.md",
    "docs/reference/measures.md",
    "docs/reference/traffic.md",
];

/// A code span of the column `where`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place<'a> {
    /// An experiment and a claim, or a pattern of claims.
    Claim(&'a str, &'a str),
    /// A file or folder, and a function in it.
    File(&'a str, Option<&'a str>),
    /// An experiment, a setting, a scheme, a workload or a command.
    Name(&'a str),
}

impl<'a> Place<'a> {
    fn parse(code: &'a str) -> Self {
        if FOLDERS.iter().any(|folder| code.starts_with(folder)) {
            match code.split_once("::") {
                Some((path, function)) => Self::File(path, Some(function)),
                None => Self::File(code, None),
            }
        } else if let Some((experiment, claim)) = code.split_once('/') {
            Self::Claim(experiment, claim)
        } else {
            Self::Name(code)
        }
    }

    /// True for tests: functions, packetdrill scripts and files of tests.
    fn is_test(self) -> bool {
        match self {
            Self::File(_, Some(_)) => true,
            Self::File(path, None) => {
                Path::new(path).extension().is_some_and(|e| e == "pkt") || path.contains("/tests/")
            }
            Self::Claim(..) | Self::Name(_) => false,
        }
    }
}

/// A row of a table of statements.
#[derive(Clone, Copy, Debug)]
struct Statement<'a> {
    text: &'a str,
    kind: &'a str,
    place: &'a str,
}

impl<'a> Statement<'a> {
    fn parse(line: &'a str) -> Self {
        let inner = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |"));
        let cells: Vec<&str> = inner.unwrap_or_default().split(" | ").collect();
        let [_section, text, kind, place] = cells[..] else {
            panic!("a row of {PAGE} has four cells: {line}")
        };
        Self { text, kind, place }
    }

    fn is_absent(self) -> bool {
        self.place.starts_with(ABSENT)
    }

    /// Code spans of the place.
    fn places(self) -> Vec<Place<'a>> {
        self.place.split('`').skip(1).step_by(2).map(Place::parse).collect()
    }
}

/// Tables of statements: the text of each section of the page with such a table, and its rows.
fn documents(page: &str) -> Vec<(&str, Vec<Statement<'_>>)> {
    let mut documents = Vec::new();
    for section in page.split("\n## ") {
        if let Some((_, table)) = section.split_once(HEADER) {
            let lines = table.lines().filter(|line| line.starts_with("| "));
            documents.push((section, lines.map(Statement::parse).collect()));
        }
    }
    documents
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    let file = repository().join(path);
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Identifiers of the claims of each experiment.
fn catalogue() -> BTreeMap<String, Vec<String>> {
    let claims = |row: &Experiment| {
        let file = ExperimentClaims::parse(row.expected, &row.id()).expect("a file of claims");
        file.claims.into_iter().map(|claim| claim.id).collect()
    };
    experiments().iter().map(|row| (row.id(), claims(row))).collect()
}

/// True if `id` is `pattern`, in which a `*` matches any text.
fn matches(pattern: &str, id: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == id,
        Some((start, end)) => {
            id.len() >= start.len() + end.len() && id.starts_with(start) && id.ends_with(end)
        }
    }
}

/// True if the reference has `code` as a code span, without its value and without the
/// tables before its last words: `switch.mark.k` is listed as `k`.
fn is_in_reference(reference: &str, code: &str) -> bool {
    let name = code.split(" = ").next().unwrap_or(code);
    if name.starts_with("lowtide ") {
        return reference.contains(&format!("`{name}"));
    }
    let mut names = std::iter::successors(Some(name), |name| Some(name.split_once('.')?.1));
    names.any(|name| reference.contains(&format!("`{name}`")))
}

/// All names that a place may have besides experiments: those of the pages, and those of the code.
fn reference() -> String {
    let mut reference: String = REFERENCE.iter().map(|path| read(path)).collect();
    // Keys, schemes, controls, workloads and their parameters are names of the schema.
    reference += &lowtide_scenario::json_schema().to_string().replace('"', "`");
    for table in lowtide_record::dictionary() {
        let columns = table.columns.into_iter().map(|column| column.name);
        for name in columns.chain([table.name]) {
            reference.extend(["`", name, "`"]);
        }
    }
    reference
}

/// Returns the defect of a place, if any.
fn defect(
    place: Place<'_>,
    catalogue: &BTreeMap<String, Vec<String>>,
    reference: &str,
) -> Option<String> {
    match place {
        Place::Claim(experiment, claim) => match catalogue.get(experiment) {
            None => Some(format!("no experiment `{experiment}`")),
            Some(ids) if !ids.iter().any(|id| matches(claim, id)) => {
                Some(format!("no claim `{claim}` in `{experiment}`"))
            }
            Some(_) => None,
        },
        Place::File(path, function) => {
            if !repository().join(path).exists() {
                return Some(format!("no file `{path}`"));
            }
            let function = function?;
            let absent = !read(path).contains(&format!("fn {function}("));
            absent.then(|| format!("no function `{function}` in `{path}`"))
        }
        Place::Name(name) => {
            let known = catalogue.contains_key(name) || is_in_reference(reference, name);
            (!known).then(|| format!("neither the reference nor the schema has `{name}`"))
        }
    }
}

#[test]
fn every_place_of_the_coverage_page_exists() {
    let page = read(PAGE);
    let catalogue = catalogue();
    let reference = reference();
    let mut defects = Vec::new();
    for statement in documents(&page).into_iter().flat_map(|(_, statements)| statements) {
        for place in statement.places() {
            // A part that could be built may have a name already.
            if !(statement.is_absent() && matches!(place, Place::Name(_))) {
                let found = defect(place, &catalogue, &reference);
                defects.extend(found.map(|found| format!("{}: {found}", statement.text)));
            }
        }
    }
    assert!(defects.is_empty(), "{PAGE}:\n{}", defects.join("\n"));
}

#[test]
fn every_row_of_the_coverage_page_has_a_kind_and_a_place_or_a_reason() {
    let page = read(PAGE);
    let documents = documents(&page);
    assert_eq!(documents.len(), 5, "a table for each document");
    for statement in documents.into_iter().flat_map(|(_, statements)| statements) {
        assert!(KINDS.contains(&statement.kind), "kind: {statement:?}");
        assert!(statement.text.ends_with('.'), "a sentence: {statement:?}");
        if let Some(reason) = statement.place.strip_prefix(ABSENT) {
            assert!(REASONS.iter().any(|known| reason.starts_with(known)), "{statement:?}");
        } else {
            let is_code = |part: &str| {
                part.len() > 2
                    && part.starts_with('`')
                    && part.ends_with('`')
                    && part.matches('`').count() == 2
            };
            assert!(statement.place.split(", ").all(is_code), "only code spans: {statement:?}");
        }
    }
}

#[test]
fn every_experiment_has_a_claim_on_the_coverage_page() {
    let page = read(PAGE);
    let statements = documents(&page).into_iter().flat_map(|(_, statements)| statements);
    let named: BTreeSet<&str> = statements
        .filter(|statement| !statement.is_absent())
        .flat_map(Statement::places)
        .filter_map(|place| match place {
            Place::Claim(experiment, _) => Some(experiment),
            Place::File(..) | Place::Name(_) => None,
        })
        .collect();
    let mut absent: Vec<String> = catalogue().into_keys().collect();
    absent.retain(|id| !named.contains(id.as_str()));
    assert!(absent.is_empty(), "{PAGE} has no claim of {absent:?}");
}

#[test]
fn the_counts_of_the_coverage_page_are_those_of_its_rows() {
    let page = read(PAGE);
    for (section, statements) in documents(&page) {
        let (mut claims, mut tests, mut features, mut absent, mut buildable) = (0, 0, 0, 0, 0);
        for statement in &statements {
            let places = statement.places();
            if statement.is_absent() {
                absent += 1;
                buildable += usize::from(statement.place.contains(": could be built: "));
            } else if places.iter().any(|place| matches!(place, Place::Claim(..))) {
                claims += 1;
            } else if places.iter().any(|place| place.is_test()) {
                tests += 1;
            } else {
                features += 1;
            }
        }
        let rows = statements.len();
        let summary = format!(
            "{rows} rows: {claims} by claims, {tests} by tests, {features} by features, {absent} \
             not here ({buildable} could be built)."
        );
        let title = section.lines().next().unwrap_or_default();
        assert!(section.contains(&summary), "{PAGE}, {title}: the line should be `{summary}`");
    }
}

#[test]
fn places_and_patterns_are_read() {
    assert_eq!(Place::parse("od-fig7.1/sack"), Place::Claim("od-fig7.1", "sack"));
    assert_eq!(Place::parse("crates/a/b.rs::c"), Place::File("crates/a/b.rs", Some("c")));
    assert_eq!(Place::parse("switch.mark.k"), Place::Name("switch.mark.k"));
    assert!(matches("a-*", "a-b") && matches("*-b", "a-b") && matches("a", "a"));
    assert!(!matches("a-*", "b-a") && !matches("ab*ba", "aba") && !matches("a", "ab"));
    assert!(is_in_reference("| `k` |", "switch.mark.k"));
    assert!(is_in_reference("`lowtide plan --rate`", "lowtide plan"));
    assert!(!is_in_reference("| `kind` |", "switch.mark.k"));
}
