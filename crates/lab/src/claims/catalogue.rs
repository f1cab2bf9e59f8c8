//! The experiments: `papers/<paper>/<row>.toml` with `<row>.expected.toml` beside it, embedded; or such a pair of
//! files of one's own.

use std::path::Path;
use std::sync::Arc;

use include_dir::{Dir, include_dir};
use lowtide_scenario::{Directory, Scenario, ScenarioErrors};

use super::{ClaimError, Expected};

static PAPERS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../papers");

const EXPECTED: &str = ".expected.toml";

/// One experiment of a paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// The paper, as `od`.
    pub paper: &'static str,
    /// Its row, as `fig5.1`.
    pub name: &'static str,
    /// The scenario file.
    pub scenario: &'static str,
    /// The file of claims.
    pub expected: &'static str,
    /// Where its scenario stands, if it is not embedded.
    pub path: Option<&'static Path>,
}

impl Row {
    /// What `reproduce` takes and prints: `od-fig5.1`.
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

    /// Where its claims stand, for errors.
    pub(super) fn file(&self) -> String {
        match self.path {
            None => format!("papers/{}/{}{EXPECTED}", self.paper, self.name),
            Some(path) => claims_of(path).to_string_lossy().into_owned(),
        }
    }
}

/// Every experiment, by paper and name.
pub fn rows() -> Vec<Row> {
    let mut out: Vec<Row> = PAPERS.dirs().flat_map(of_paper).collect();
    out.sort_by_key(|r| (r.paper, order(r.name)));
    out
}

fn of_paper(dir: &'static Dir<'static>) -> impl Iterator<Item = Row> {
    let paper = dir.path().to_str().unwrap_or_default();
    dir.files().filter_map(move |file| {
        let name = file.path().file_name()?.to_str()?.strip_suffix(EXPECTED)?;
        let scenario = dir.get_file(format!("{paper}/{name}.toml"))?.contents_utf8()?;
        Some(Row { paper, name, scenario, expected: file.contents_utf8()?, path: None })
    })
}

/// An experiment of one's own: the scenario at `path`, with its file of claims beside it. Its paper is the folder.
///
/// # Errors
/// A file that cannot be read.
pub fn read(path: &Path) -> Result<Row, ClaimError> {
    let text = |path: &Path| -> Result<&'static str, ClaimError> {
        let text = std::fs::read_to_string(path).map_err(|e| ClaimError {
            file: path.display().to_string(),
            message: format!(
                "cannot read it: {e}; an experiment is `ROW.toml` with `ROW{EXPECTED}` beside it"
            ),
        })?;
        Ok(forever(text))
    };
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let part = |part: Option<&std::ffi::OsStr>, none: &str| {
        part.map_or_else(|| none.to_owned(), |name| name.to_string_lossy().into_owned())
    };
    Ok(Row {
        paper: forever(part(whole.parent().and_then(Path::file_name), "own")),
        name: forever(part(path.file_stem(), "row")),
        scenario: text(path)?,
        expected: text(&claims_of(path))?,
        path: Some(Path::new(forever(path.to_string_lossy().into_owned()))),
    })
}

/// Rows live as long as the process, which reads a handful of them.
fn forever(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// The file of claims of a scenario.
fn claims_of(path: &Path) -> std::path::PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}{EXPECTED}"))
}

/// `fig5.10` after `fig5.9`.
fn order(name: &str) -> (String, Vec<u32>) {
    let digits = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
    let (word, numbers) = name.split_at(digits);
    (word.to_owned(), numbers.split(['.', '-']).filter_map(|n| n.parse().ok()).collect())
}

/// The experiments that `name` means: `all`, a paper (`od`), or one row (`od-fig5.1`, `od/fig5.1`).
/// Empty when there is none.
pub fn find(name: &str) -> Vec<Row> {
    let means = |r: &Row| {
        let also = Expected::parse(r.expected, name).map(|e| e.also).unwrap_or_default();
        let one = |row: &str| {
            name.strip_prefix(r.paper).and_then(|n| n.strip_prefix(['-', '/'])) == Some(row)
        };
        name == "all" || name == r.paper || one(r.name) || also.iter().any(|row| one(row))
    };
    rows().into_iter().filter(means).collect()
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
                let stem = name.strip_suffix(EXPECTED).or_else(|| name.strip_suffix(".toml"));
                let paper = paper.file_name().into_string().unwrap();
                files.insert(format!("{paper}-{}", stem.expect("a TOML file")));
            }
        }
        let known: BTreeSet<String> = rows().iter().map(Row::id).collect();
        assert_eq!(known, files, "each scenario needs its claims, and a new file a new build");
        for row in rows() {
            let plan = Scenario::parse(row.scenario, &row.id()).unwrap().expand();
            let plan = plan.unwrap_or_else(|e| panic!("{}: {e}", row.id()));
            let claims = Expected::parse(row.expected, &row.id()).unwrap();
            assert!(!claims.claims.is_empty() && !plan.runs.is_empty(), "{}", row.id());
            assert!(claims.quick.hops.is_some(), "{}: [quick] hops", row.id());
            for quick in [false, true] {
                let form = super::super::plan(&row, super::super::Mode { quick, seeds: None });
                form.unwrap_or_else(|e| panic!("{}: {e}", row.id()));
            }
            let vary = super::super::vary(&row);
            vary.unwrap_or_else(|e| panic!("{}: {e}", row.id()));
        }
    }

    #[test]
    fn one_parameter_of_a_paper_is_fitted_at_most() {
        let mut papers = BTreeSet::new();
        for row in rows() {
            if Expected::parse(row.expected, "").unwrap().calibration.is_some() {
                assert!(papers.insert(row.paper), "{}: a second calibration", row.id());
            }
        }
    }

    #[test]
    fn a_name_means_a_row_a_paper_or_all() {
        let all = rows();
        let Some(first) = all.first() else { return };
        assert_eq!(find(&first.id()), [*first]);
        assert_eq!(find("all"), all);
        assert!(find(first.paper).contains(first) && find("nothing").is_empty());
        for row in &all {
            for also in Expected::parse(row.expected, "").unwrap().also {
                assert_eq!(find(&format!("{}-{also}", row.paper)), [*row]);
            }
        }
    }

    #[test]
    fn rows_stand_in_the_order_of_the_paper() {
        assert!(order("fig5.10") > order("fig5.9"));
        assert!(order("fig14") > order("fig2"));
    }

    #[test]
    fn an_experiment_of_ones_own_is_two_files() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("mine");
        std::fs::create_dir(&dir).unwrap();
        let (row, file) = (&find("od-fig4.1")[0], dir.join("k.toml"));
        std::fs::write(&file, row.scenario).unwrap();
        let error = read(&file).unwrap_err();
        assert!(
            error.file.ends_with("k.expected.toml") && error.message.contains("beside it"),
            "{error}"
        );
        std::fs::write(dir.join("k.expected.toml"), row.expected).unwrap();
        let own = read(&file).unwrap();
        assert_eq!((own.id().as_str(), own.expected), ("mine-k", row.expected));
        assert!(own.file().ends_with("k.expected.toml"));
        let mode = super::super::Mode::default();
        let (plan, embedded) =
            (super::super::plan(&own, mode).unwrap(), super::super::plan(row, mode).unwrap());
        assert_eq!(plan.hash, embedded.hash, "the same runs");
        assert_eq!((plan.name.as_str(), embedded.name.as_str()), ("mine-k", "od-fig4.1"));
        let wrong = row.expected.replace("kind = \"", "kind = \"un");
        std::fs::write(dir.join("k.expected.toml"), wrong).unwrap();
        let error = super::super::plan(&read(&file).unwrap(), mode).unwrap_err().to_string();
        assert!(error.contains("k.expected.toml"), "{error}");
    }
}
