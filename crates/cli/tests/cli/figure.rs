//! `lowtide figure` as a process, and the values of its figures.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::process::{lowtide, stderr, stdout};

/// Runs the command in `folder`.
fn figure(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
    command.args(["-q", "figure"]).args(args).current_dir(folder).output().expect("it runs")
}

fn run(folder: &Path) {
    let out = folder.join("out");
    let done =
        lowtide(&["-q", "run", "first-light", "--trace", "0", "-o", out.to_str().expect("text")]);
    assert!(done.status.success(), "{}", stderr(&done));
}

/// The values of all figures are those of the CSV files beside the report.
fn assert_values_of_the_report(dir: &Path) {
    let (run, finished) = lowtide_lab::load_open(dir).expect("results");
    let mut names = BTreeSet::new();
    for chart in lowtide_deployment::charts(&run, &finished).expect("figures") {
        let file = dir.join("figures").join(format!("{}.csv", chart.id()));
        assert_eq!(
            chart.to_csv(),
            fs::read_to_string(&file).expect("a CSV file"),
            "{}",
            file.display()
        );
        names.insert(chart.id().to_owned());
    }
    let files =
        fs::read_dir(dir.join("figures")).expect("a folder").map(|e| e.expect("an entry").path());
    let files = files.filter(|p| p.extension().is_some_and(|e| e == "csv"));
    let drawn: BTreeSet<String> =
        files.map(|p| p.file_stem().expect("a name").to_string_lossy().into_owned()).collect();
    assert_eq!(names, drawn);
}

#[test]
fn figures_of_a_run_have_names_formats_and_the_values_of_its_report() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path();
    run(folder);
    assert_values_of_the_report(&folder.join("out"));
    let listed = figure(folder, &["out", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed["schema"], "lowtide.figures/1");
    let figures = listed["figures"].as_array().unwrap();
    let names: Vec<&str> = figures.iter().map(|f| f["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"queue-over-time"), "{names:?}");
    let text = stdout(&figure(folder, &["out"]));
    assert!(names.iter().all(|name| text.contains(name)), "{text}");
    // Every figure fits a column in each format, in colour and in grey.
    for name in &names {
        for (more, head) in [
            (&[][..], &b"%PDF-"[..]),
            (&["--format", "png", "--grey", "--dpi", "100"], b"\x89PNG"),
            (&["--format", "svg", "--outlines"], b"<svg"),
        ] {
            let drawn = figure(folder, &[&["out", name], more].concat());
            assert!(drawn.status.success(), "{name}: {}", stderr(&drawn));
            let file = stdout(&drawn);
            let content = fs::read(folder.join(file.trim())).unwrap();
            assert!(content.starts_with(head), "{file}");
        }
    }
    let svg = figure(folder, &["out", "queue-over-time", "-o", "q.svg", "--width", "84mm"]);
    assert_eq!(stdout(&svg), "q.svg\n");
    let svg = fs::read_to_string(folder.join("q.svg")).unwrap();
    assert!(svg.contains("width=\"238.11") && svg.contains("@font-face"));
    // A flow that was not recorded is replayed.
    let flow = figure(folder, &["out", "--flow", "1", "--scheme", "dctcp", "--json"]);
    let flow: Value = serde_json::from_slice(&flow.stdout).unwrap();
    assert_eq!(
        (&flow["schema"], &flow["file"]),
        (&"lowtide.figure/1".into(), &"flow-1-dctcp.pdf".into())
    );
    // The directory is as before.
    let checked = lowtide(&["check", folder.join("out").to_str().unwrap()]);
    assert!(checked.status.success(), "{}", stderr(&checked));
}

#[test]
fn bad_requests_are_refused_with_the_valid_ones() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path();
    run(folder);
    fs::write(folder.join("text.ttf"), "no font").unwrap();
    let before = fs::read_dir(folder).unwrap().count();
    let name = "queue-over-time";
    for (args, why) in [
        (&["out", "queue-over-tim"][..], "near names are `queue-over-time`"),
        (&["out", name, "--font", "No Such Family"], "the families are "),
        (&["out", name, "--font", "none.ttf"], "cannot be read"),
        (&["out", name, "--font", "text.ttf"], "is not a font file"),
        (&["out", name, "--width", "0.5in"], "the width 36pt is not between 72pt and 3600pt"),
        (&["out", name, "--width", "80pt"], "its width must be at least"),
        (&["out", name, "--height", "80pt"], "its height must be at least"),
        (&["out", name, "--width", "3.3"], "as 3.3in, 84mm, 8.4cm or 240pt"),
        (&["out", name, "--font-size", "80pt"], "the font size 80pt is not between"),
        (&["out", name, "-o", "none/a.pdf"], "the folder none of -o does not exist"),
        (&["out", name, "-o", "out"], "out of -o is a folder"),
        (&["out", name, "-o", "a.png", "--format", "pdf"], "name a .pdf file"),
        (&["out", name, "-o", "a.jpg"], "`.jpg` is not a format"),
        (&["out", "-o", "a.pdf"], "no figure is named"),
        (&["out", name, "--dpi", "0"], "36..=2400"),
        (&["out", name, "--from", "1ms"], "--flow"),
        (&["none", name], "figures are drawn from a directory of"),
    ] {
        let refused = figure(folder, args);
        assert_eq!(refused.status.code(), Some(2), "{args:?}: {}", stderr(&refused));
        assert!(stderr(&refused).contains(why), "{args:?}: {}", stderr(&refused));
        assert!(stdout(&refused).is_empty(), "{args:?}");
    }
    assert_eq!(fs::read_dir(folder).unwrap().count(), before, "nothing was written");
}

#[test]
fn figures_of_a_matrix_have_the_values_of_its_report() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("out");
    let stacks = ["--senders", "dctcp,sack", "--receivers", "dctcp,ecn", "--neighbours", "sack"];
    let place = ["-s", "run.warmup=5 ms", "-s", "run.duration=20 ms", "-o", dir.to_str().unwrap()];
    let done = lowtide(&[&["-q", "matrix"], &stacks[..], &place[..]].concat());
    assert!(done.status.success(), "{}", stderr(&done));
    assert_values_of_the_report(&dir);
    let drawn = figure(temp.path(), &["out", "verdict-beside", "--grey"]);
    assert!(drawn.status.success(), "{}", stderr(&drawn));
}
