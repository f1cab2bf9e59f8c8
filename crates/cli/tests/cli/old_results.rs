//! Results of the version before (`lowtide.manifest/2`), which had other names of tables and
//! columns.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn lowtide(args: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_lowtide")).args(args).output().expect("it runs");
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(args: &[&str]) -> Value {
    serde_json::from_slice(&lowtide(args).stdout).expect("JSON")
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
fn results_of_the_version_before_are_checked_read_and_reported() {
    let dir = old_results("version-2");
    let dir = dir.to_str().expect("a path");
    let before = json(&["compare", dir, dir, "--json", "--metric", "all"]);
    assert_eq!((&before["a"]["scenario"], &before["failed"]), (&"link-fails".into(), &0.into()));
    for again in 0..2 {
        lowtide(&["check", dir]);
        let runs = json(&["table", dir, "runs", "--json"]);
        let drops = |name: &str| &runs["rows"][0][name];
        assert_eq!((drops("link_down_drops"), drops("no_route_drops")), (&3.into(), &11.into()));
        let flows = json(&["table", dir, "flows", "--json"]);
        assert_eq!(flows["rows"][0]["blocked_on"], "rto");
        assert_eq!(flows["rows"][0]["acks_in_after_warmup"], 1);
        let pools = json(&["table", dir, "buffer_pools", "--json"]);
        assert_eq!(pools["rows"][0]["buffer_pool"], 0);
        assert_eq!(json(&["compare", dir, dir, "--json", "--metric", "all"]), before);
        if again == 0 {
            // The report and the manifest are written again; the tables keep their old names.
            lowtide(&["report", dir]);
        }
    }
    let summary = fs::read_to_string(Path::new(dir).join("summary.json")).expect("a summary");
    assert!(summary.contains("\"no_route_drops\"") && summary.contains("\"buffer_pools\""));
}

#[test]
fn old_names_of_tables_and_metrics_are_accepted_with_a_hint() {
    let dir = old_results("old-names");
    let dir = dir.to_str().expect("a path");
    let table = lowtide(&["table", dir, "memories", "--csv"]);
    assert!(text(&table.stdout).contains(",switch,buffer_pool,size_bytes"));
    assert!(text(&table.stderr).contains("the table `memories` is now `buffer_pools`"));
    let compared = lowtide(&["compare", dir, dir, "--json", "--metric", "cut"]);
    assert!(text(&compared.stdout).contains("\"metric\": \"link_down_drops\""));
    assert!(text(&compared.stderr).contains("the metric `cut` is now `link_down_drops`"));
}
