//! Results of earlier versions, whose tables had other types and names.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn lowtide(args: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_lowtide")).args(args).output().expect("it runs");
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (path, place) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &place);
        } else {
            fs::copy(&path, &place).expect("a copy");
        }
    }
}

/// A copy of the kept results.
fn old_results(name: &str) -> PathBuf {
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&to);
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../record/tests/data/version-2"), &to);
    to
}

#[test]
fn results_with_unsigned_tables_are_refused_in_one_sentence() {
    let dir = old_results("version-2");
    let before = fs::read(dir.join("manifest.json")).expect("a manifest");
    let name = dir.to_str().expect("a path");
    for args in [
        &["check", name][..],
        &["table", name, "runs"],
        &["compare", name, name],
        &["report", name],
        &["figure", name],
        &["run", "first-light", "-o", name],
    ] {
        let refused = Command::new(env!("CARGO_BIN_EXE_lowtide")).args(args).output();
        let refused = refused.expect("it runs");
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains("its schema is `lowtide.manifest/2`"), "{args:?}: {said}");
        assert!(said.contains("signed integers"), "{args:?}: {said}");
    }
    assert_eq!(fs::read(dir.join("manifest.json")).expect("a manifest"), before);
}

#[test]
fn old_names_of_tables_and_metrics_are_accepted_with_a_hint() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("old-names");
    let _ = fs::remove_dir_all(&dir);
    let dir = dir.to_str().expect("a path");
    let scenario = "../record/tests/data/version-2/scenario.toml";
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join(scenario);
    lowtide(&["-q", "run", scenario.to_str().expect("a path"), "-o", dir]);
    let table = lowtide(&["table", dir, "memories", "--csv"]);
    assert!(text(&table.stdout).contains(",switch,buffer_pool,size_bytes"));
    assert!(text(&table.stderr).contains("the table `memories` is now `buffer_pools`"));
    let compared = lowtide(&["compare", dir, dir, "--json", "--metric", "cut"]);
    assert!(text(&compared.stdout).contains("\"metric\": \"link_down_drops\""));
    assert!(text(&compared.stderr).contains("the metric `cut` is now `link_down_drops`"));
}
