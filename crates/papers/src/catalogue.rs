//! The experiments: embedded pairs `papers/<paper>/<row>.toml` and `<row>.expected.toml`, or such a
//! pair of the user's.

use std::path::Path;
use std::sync::Arc;

use include_dir::{Dir, include_dir};
use lowtide_input_files::{FileKind, SCENARIO, SETTINGS, read_text};
use lowtide_scenario::{Directory, Scenario, ScenarioErrors};

use super::{ClaimError, ExperimentClaims};

static PAPERS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../papers");

const CLAIMS_SUFFIX: &str = ".expected.toml";

/// The settings that a paper leaves open, beside its experiments.
pub(super) const OPEN_SETTINGS: &str = "open.toml";

/// One experiment of a paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Experiment {
    /// The paper, as `od`.
    pub paper: &'static str,
    /// Its row, such as `fig5.1`.
    pub name: &'static str,
    /// The scenario file.
    pub scenario: &'static str,
    /// The file of claims.
    pub expected: &'static str,
    /// Path of its scenario, if it is not embedded.
    pub path: Option<&'static Path>,
}

impl Experiment {
    /// Its identifier for `reproduce`: `od-fig5.1`.
    pub fn id(&self) -> String {
        format!("{}-{}", self.paper, self.name)
    }

    /// Its scenario.
    pub(super) fn scenario(&self) -> Result<Scenario, ScenarioErrors> {
        let Some(path) = self.path else {
            return Scenario::parse(self.scenario, &format!("{}.toml", self.id()));
        };
        let beside = Directory(path.parent().map(Path::to_path_buf).unwrap_or_default());
        let read = Scenario::parse_with(self.scenario, &path.to_string_lossy(), Arc::new(beside));
        Ok(read?.named(&self.id()))
    }

    /// Path of its claims, for errors.
    pub(super) fn claims_path(&self) -> String {
        match self.path {
            None => format!("papers/{}/{}{CLAIMS_SUFFIX}", self.paper, self.name),
            Some(path) => claims_path_of(path).to_string_lossy().into_owned(),
        }
    }
}

/// All experiments, by paper and name.
pub fn experiments() -> Vec<Experiment> {
    let mut out: Vec<Experiment> = PAPERS.dirs().flat_map(of_paper).collect();
    out.sort_by_key(|r| (r.paper, sort_key(r.name)));
    out
}

fn of_paper(dir: &'static Dir<'static>) -> impl Iterator<Item = Experiment> {
    let paper = dir.path().to_str().unwrap_or_default();
    dir.files().filter_map(move |file| {
        let name = file.path().file_name()?.to_str()?.strip_suffix(CLAIMS_SUFFIX)?;
        let scenario = dir.get_file(format!("{paper}/{name}.toml"))?.contents_utf8()?;
        Some(Experiment { paper, name, scenario, expected: file.contents_utf8()?, path: None })
    })
}

/// The text of a file beside the experiments of a paper, if it exists.
pub(super) fn paper_file(paper: &str, name: &str) -> Option<&'static str> {
    PAPERS.get_file(format!("{paper}/{name}"))?.contents_utf8()
}

/// Loads a user's experiment: the scenario at `path`, with its file of claims beside it. Its paper
/// is the folder.
///
/// # Errors
/// A file cannot be read.
pub fn load_experiment(path: &Path) -> Result<Experiment, ClaimError> {
    let text = |path: &Path, kind: FileKind| -> Result<&'static str, ClaimError> {
        let text = read_text(path, &kind).map_err(|e| ClaimError {
            file: path.display().to_string(),
            message: format!(
                "cannot read it: {e}; an experiment is `ROW.toml` with `ROW{CLAIMS_SUFFIX}` beside it"
            ),
        })?;
        Ok(leak(text))
    };
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let part = |part: Option<&std::ffi::OsStr>, none: &str| {
        part.map_or_else(|| none.to_owned(), |name| name.to_string_lossy().into_owned())
    };
    Ok(Experiment {
        paper: leak(part(whole.parent().and_then(Path::file_name), "own")),
        name: leak(part(path.file_stem(), "row")),
        scenario: text(path, SCENARIO)?,
        expected: text(&claims_path_of(path), SETTINGS)?,
        path: Some(Path::new(leak(path.to_string_lossy().into_owned()))),
    })
}

/// Leaks the text: experiments live as long as the process, which reads few of them.
fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// Path of the file of claims of a scenario.
fn claims_path_of(path: &Path) -> std::path::PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}{CLAIMS_SUFFIX}"))
}

/// Sorts `fig5.10` after `fig5.9`.
fn sort_key(name: &str) -> (String, Vec<u32>) {
    let digits = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
    let (word, numbers) = name.split_at(digits);
    (word.to_owned(), numbers.split(['.', '-']).filter_map(|n| n.parse().ok()).collect())
}

/// The experiments selected by `name`: `all`, a paper (`od`), or one row (`od-fig5.1`,
/// `od/fig5.1`). Empty if there is none.
pub fn find_experiments(name: &str) -> Vec<Experiment> {
    let means = |r: &Experiment| {
        let also = ExperimentClaims::parse(r.expected, name).map(|e| e.also).unwrap_or_default();
        let one = |row: &str| {
            name.strip_prefix(r.paper).and_then(|n| n.strip_prefix(['-', '/'])) == Some(row)
        };
        name == "all" || name == r.paper || one(r.name) || also.iter().any(|row| one(row))
    };
    experiments().into_iter().filter(means).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_on_disk_is_an_experiment_that_can_be_run() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
        let mut files = BTreeSet::new();
        for paper in std::fs::read_dir(&root).unwrap().flatten().filter(|e| e.path().is_dir()) {
            for file in std::fs::read_dir(paper.path()).unwrap().flatten() {
                let name = file.file_name().into_string().unwrap();
                if name == OPEN_SETTINGS {
                    continue;
                }
                let stem = name.strip_suffix(CLAIMS_SUFFIX).or_else(|| name.strip_suffix(".toml"));
                let paper = paper.file_name().into_string().unwrap();
                files.insert(format!("{paper}-{}", stem.expect("a TOML file")));
            }
        }
        let known: BTreeSet<String> = experiments().iter().map(Experiment::id).collect();
        assert_eq!(known, files, "each scenario needs its claims, and a new file a new build");
        for row in experiments() {
            let plan = Scenario::parse(row.scenario, &row.id()).unwrap().expand();
            let plan = plan.unwrap_or_else(|e| panic!("{}: {e}", row.id()));
            let claims = ExperimentClaims::parse(row.expected, &row.id()).unwrap();
            assert!(!claims.claims.is_empty() && !plan.runs.is_empty(), "{}", row.id());
            assert!(claims.quick.hops.is_some(), "{}: [quick] hops", row.id());
            for quick in [false, true] {
                let form = super::super::plan(
                    &row,
                    super::super::ReproduceMode { quick, ..Default::default() },
                );
                form.unwrap_or_else(|e| panic!("{}: {e}", row.id()));
            }
            let vary = super::super::variation_plans(&row);
            vary.unwrap_or_else(|e| panic!("{}: {e}", row.id()));
        }
    }

    #[test]
    fn schemes_of_tdctcp_have_segments_of_1460_bytes_and_the_same_options() {
        for row in find_experiments("td") {
            let plan = row.scenario().unwrap().expand().unwrap();
            assert_eq!(plan.schemes.len(), row.scenario.matches("timestamps = false").count());
            for run in &plan.runs {
                let resolved: toml::Table = run.resolved_toml().parse().unwrap();
                for (name, host) in resolved["hosts"].as_table().unwrap() {
                    for option in ["sack", "timestamps"] {
                        let set = host["connection"][option].as_bool();
                        assert_eq!(set, Some(false), "{}: {name} {option}", row.id());
                    }
                }
            }
        }
    }

    #[test]
    fn at_most_one_parameter_of_a_paper_is_fitted() {
        let mut papers = BTreeSet::new();
        for row in experiments() {
            if ExperimentClaims::parse(row.expected, "").unwrap().calibration.is_some() {
                assert!(papers.insert(row.paper), "{}: a second calibration", row.id());
            }
        }
    }

    #[test]
    fn a_name_selects_an_experiment_a_paper_or_all() {
        let all = experiments();
        let Some(first) = all.first() else { return };
        assert_eq!(find_experiments(&first.id()), [*first]);
        assert_eq!(find_experiments("all"), all);
        assert!(
            find_experiments(first.paper).contains(first) && find_experiments("nothing").is_empty()
        );
        for row in &all {
            for also in ExperimentClaims::parse(row.expected, "").unwrap().also {
                assert_eq!(find_experiments(&format!("{}-{also}", row.paper)), [*row]);
            }
        }
    }

    #[test]
    fn rows_are_in_the_order_of_the_paper() {
        assert!(sort_key("fig5.10") > sort_key("fig5.9"));
        assert!(sort_key("fig14") > sort_key("fig2"));
    }

    #[test]
    fn a_users_experiment_is_two_files() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("mine");
        std::fs::create_dir(&dir).unwrap();
        let (row, file) = (&find_experiments("od-fig4.4")[0], dir.join("k.toml"));
        std::fs::write(&file, row.scenario).unwrap();
        let error = load_experiment(&file).unwrap_err();
        assert!(
            error.file.ends_with("k.expected.toml") && error.message.contains("beside it"),
            "{error}"
        );
        std::fs::write(dir.join("k.expected.toml"), row.expected).unwrap();
        let own = load_experiment(&file).unwrap();
        assert_eq!((own.id().as_str(), own.expected), ("mine-k", row.expected));
        assert!(own.claims_path().ends_with("k.expected.toml"));
        let mode = super::super::ReproduceMode::default();
        let (plan, embedded) =
            (super::super::plan(&own, mode).unwrap(), super::super::plan(row, mode).unwrap());
        assert_eq!(plan.hash, embedded.hash, "the same runs");
        assert_eq!((plan.name.as_str(), embedded.name.as_str()), ("mine-k", "od-fig4.4"));
        let wrong = row.expected.replace("kind = \"", "kind = \"un");
        std::fs::write(dir.join("k.expected.toml"), wrong).unwrap();
        let error =
            super::super::plan(&load_experiment(&file).unwrap(), mode).unwrap_err().to_string();
        assert!(error.contains("k.expected.toml"), "{error}");
        let (_, first) = row.expected.split_once("[[claim]]").unwrap();
        let (first, _) = first.split_once("[[claim]]").unwrap();
        let again = first.replace("id = \"alpha-reset\"", "id = \"again\"");
        let twice = format!("{}\n[[claim]]{again}", row.expected);
        std::fs::write(dir.join("k.expected.toml"), twice).unwrap();
        let error =
            super::super::plan(&load_experiment(&file).unwrap(), mode).unwrap_err().to_string();
        assert!(error.contains("claim `again`: it is judged from the measures"), "{error}");
    }
}
