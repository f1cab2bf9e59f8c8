//! The embedded experiments: `papers/<paper>/<row>.toml` with `<row>.expected.toml` beside it.

use include_dir::{Dir, include_dir};
use lowtide_scenario::{Scenario, ScenarioErrors};

use super::Expected;

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
}

impl Row {
    /// What `reproduce` takes and prints: `od-fig5.1`.
    pub fn id(&self) -> String {
        format!("{}-{}", self.paper, self.name)
    }

    /// Its scenario.
    pub(super) fn scenario(&self) -> Result<Scenario, ScenarioErrors> {
        Scenario::parse(self.scenario, &format!("{}.toml", self.id()))
    }

    /// Where its claims stand, for errors.
    pub(super) fn file(&self) -> String {
        format!("papers/{}/{}{EXPECTED}", self.paper, self.name)
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
        Some(Row { paper, name, scenario, expected: file.contents_utf8()? })
    })
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
}
