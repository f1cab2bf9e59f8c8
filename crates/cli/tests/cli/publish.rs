//! `lowtide bundle`, `cite` and `man` as processes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn lowtide(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
    command.args(args).current_dir(dir).output().expect("it runs")
}

fn stdout(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The error of a command that must exit with `status`.
fn error(output: &Output, status: i32) -> String {
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&stdout(output)).expect("JSON")
}

/// Runs a shell script in `dir`.
fn shell(dir: &Path, script: &str) {
    let status = Command::new("sh").args(["-euc", script]).current_dir(dir).status();
    assert!(status.expect("sh runs").success(), "{script}");
}

/// A scenario with a file of flows, run with changes by the command line.
fn run_own_flows(dir: &Path) {
    let scenario = stdout(&lowtide(dir, &["show", "own-flows"]));
    let mut table: toml::Table = scenario.parse().expect("TOML");
    let files = table.remove("files").expect("embedded files");
    for (name, text) in files.as_table().expect("a table") {
        fs::write(dir.join(name), text.as_str().expect("text")).expect("written");
    }
    fs::write(dir.join("own.toml"), table.to_string()).expect("written");
    let mut args = vec!["run", "own.toml", "-o", "out", "-s", "switch.mark.k=15 pkt"];
    args.extend(["--seeds", "2", "--over", "run.duration=20 ms,30 ms"]);
    stdout(&lowtide(dir, &args));
}

#[test]
fn an_archive_repeats_a_run_with_its_overrides_and_files() {
    let temp = tempfile::tempdir().expect("a directory");
    let dir = temp.path();
    run_own_flows(dir);
    let written = json(&lowtide(dir, &["--json", "bundle", "out", "-o", "a.tar.gz"]));
    assert_eq!(written["bundle"]["repeat"], serde_json::json!(["run", "own.toml"]));
    assert_eq!(written["bundle"]["seeds"], serde_json::json!([1, 2]));
    stdout(&lowtide(dir, &["bundle", "out", "-o", "b.tar.gz"]));
    let archives = ["a.tar.gz", "b.tar.gz"].map(|name| fs::read(dir.join(name)).expect("written"));
    assert_eq!(archives[0], archives[1], "equal directories give equal bytes");

    // Away from the scenario, so that the archive alone gives the runs.
    let away = dir.join("away");
    fs::create_dir(&away).expect("a directory");
    let args = ["--json", "bundle", "../a.tar.gz", "--verify", "--repeat", "-o", "unpacked"];
    let verified = json(&lowtide(&away, &args));
    assert_eq!(verified["repeated_digest"], written["bundle"]["digest"]);

    // As the README says.
    let folder = written["bundle"]["scenario_hash"].as_str().expect("a hash");
    let folder = away.join("unpacked").join(format!("own-{}", &folder[..8]));
    shell(&folder, "sha256sum --quiet -c SHA256SUMS");
    let readme = fs::read_to_string(folder.join("README.md")).expect("a page");
    assert!(readme.contains("lowtide run own.toml -o repeated"), "{readme}");
    let same = lowtide(&folder, &["diff", "results", "repeated"]);
    assert_eq!(same.status.code(), Some(0), "{same:?}");
    let bib = fs::read_to_string(folder.join("REFERENCES.bib")).expect("references");
    assert!(bib.contains("@software{lowtide,"), "{bib}");
    for line in readme.lines().filter_map(|line| line.strip_prefix("| `results/")) {
        let name = line.split('`').next().expect("a name");
        let there = folder.join("results").join(name);
        assert!(name.contains('*') || there.exists(), "README names {name}");
    }
}

#[test]
fn a_changed_archive_is_refused() {
    let temp = tempfile::tempdir().expect("a directory");
    let dir = temp.path();
    stdout(&lowtide(dir, &["run", "first-light", "-o", "out"]));
    stdout(&lowtide(dir, &["bundle", "out", "-o", "a.tar.gz"]));
    stdout(&lowtide(dir, &["bundle", "--verify", "a.tar.gz"]));
    let changed = |change: &str| {
        let script = format!(
            "rm -rf x; mkdir x; tar xzf a.tar.gz -C x; cd x/*; {change}; cd ..; \
             find . -type f -printf '%P\\n' | tar czf ../changed.tar.gz -T -"
        );
        shell(dir, &script);
        lowtide(dir, &["bundle", "--verify", "changed.tar.gz"])
    };
    stdout(&changed("true"));
    let edited = error(&changed("echo >>README.md"), 1);
    assert!(edited.contains("`README.md` does not have its hash"), "{edited}");
    let added = error(&changed("echo >results/more.csv"), 1);
    assert!(added.contains("`results/more.csv` is not in `SHA256SUMS`"), "{added}");
    let gone = error(&changed("rm results/report.html"), 1);
    assert!(gone.contains("`results/report.html`"), "{gone}");
    // Even with fitting hashes the digest must follow from the tables.
    let digest = "sed -i 's/\"digest\": \".\\{4\\}/\"digest\": \"0000/' bundle.json; \
                  find . -type f ! -name SHA256SUMS -printf '%P\\n' | xargs sha256sum >SHA256SUMS";
    let digest = error(&changed(digest), 1);
    assert!(digest.contains("the tables have the digest"), "{digest}");
    let cut = fs::read(dir.join("a.tar.gz")).expect("an archive");
    fs::write(dir.join("cut.tar.gz"), &cut[..cut.len() / 2]).expect("written");
    let cut = error(&lowtide(dir, &["bundle", "--verify", "cut.tar.gz"]), 2);
    assert!(cut.contains("cut.tar.gz is not an archive of `lowtide bundle`"), "{cut}");
    let link = "ln -s /etc/passwd x/link; tar czf link.tar.gz x/link";
    shell(dir, link);
    let link = error(&lowtide(dir, &["bundle", "--verify", "link.tar.gz"]), 2);
    assert!(link.contains("`x/link` is no plain file in it"), "{link}");
}

/// The archive of a run with changes by a shell in its folder, with fitting hashes.
fn changed_archive(dir: &Path, name: &str, change: &str) {
    if !dir.join("a.tar.gz").exists() {
        let run = ["run", "first-light", "--seeds", "1", "-o", "out"];
        stdout(&lowtide(dir, &run));
        stdout(&lowtide(dir, &["bundle", "out", "-o", "a.tar.gz"]));
    }
    let script = format!(
        "rm -rf x; mkdir x; tar xzf a.tar.gz -C x; cd x/*; {change}; \
         find . -type f ! -name SHA256SUMS -printf '%P\\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS; \
         cd ..; find . -type f -printf '%P\\n' | LC_ALL=C sort | tar czf ../{name} -T -"
    );
    shell(dir, &script);
}

#[test]
fn an_archive_that_expands_too_much_is_refused_before_anything_is_written() {
    let temp = tempfile::tempdir().expect("a directory");
    let dir = temp.path();
    // Its header states the size.
    changed_archive(dir, "stated.tar.gz", "truncate -s 300M results/zeros");
    // Of twenty members none is too large, but they are together.
    let many = "for i in $(seq 20); do truncate -s 15M results/zeros$i; done";
    changed_archive(dir, "many.tar.gz", many);
    // The end is as large as honest results; the begin is not.
    let mixed = "truncate -s 30M a; head -c 2M /dev/urandom >z";
    changed_archive(dir, "mixed.tar.gz", mixed);
    for (name, reason) in [
        ("stated.tar.gz", "its members have 3"),
        // By its stated sizes or by the ratio: that depends on the order of its members.
        ("many.tar.gz", "is not an archive of `lowtide bundle`: it"),
        ("mixed.tar.gz", "it expands to more than 100 times its size and 16 MB"),
    ] {
        let args = ["bundle", "--verify", name, "-o", "unpacked"];
        let refused = error(&lowtide(dir, &args), 2);
        assert!(refused.contains(reason) && refused.contains(name), "{refused}");
        let left: Vec<_> = fs::read_dir(dir).expect("a list").flatten().collect();
        let is_new = |name: &str| name.starts_with("unpacked") || name.contains(".tmp");
        let new = left.iter().find(|entry| is_new(&entry.file_name().to_string_lossy()));
        assert!(new.is_none(), "{new:?}");
    }
}

/// Files beside the results could be taken for those of a repetition.
#[test]
fn an_archive_has_no_results_but_those_of_its_manifest() {
    let temp = tempfile::tempdir().expect("a directory");
    let dir = temp.path();
    changed_archive(dir, "b.tar.gz", "cp -r results repeated");
    let refused = error(&lowtide(dir, &["bundle", "--verify", "b.tar.gz", "--repeat"]), 1);
    assert!(refused.contains("is not in `results/manifest.json`"), "{refused}");
    changed_archive(dir, "b.tar.gz", "sed -i 's/\"seeds\": \\[/&7, /' bundle.json");
    let refused = error(&lowtide(dir, &["bundle", "--verify", "b.tar.gz"]), 1);
    assert!(refused.contains("does not describe `results/manifest.json`"), "{refused}");
}

#[test]
fn an_archive_repeats_only_what_its_results_give() {
    let temp = tempfile::tempdir().expect("a directory");
    let dir = temp.path();
    let verify = |name: &str| lowtide(dir, &["bundle", "--verify", name, "--repeat", "-q"]);
    let state = |words: &str| {
        let json = words.split(' ').map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(",");
        changed_archive(
            dir,
            "b.tar.gz",
            &format!(
                "tr -d '\\n' <bundle.json | sed 's|\"repeat\": *\\[[^]]*\\]|\"repeat\": [{json}]|' >j; mv j bundle.json"
            ),
        );
        verify("b.tar.gz")
    };
    let same = state("run first-light.toml");
    assert_eq!(same.status.code(), Some(0), "{same:?}");
    for words in [
        "run /dev/zero",
        "run first-light.toml --backend live",
        "run first-light.toml --part made --index 0 --of 2",
        "run first-light.toml --seeds 100000",
        "run ../../../first-light.toml",
        "papers reproduce dx-fig17 --quick",
        "matrix --out=made",
        "kernel list",
    ] {
        let refused = error(&state(words), 2);
        assert!(refused.contains("the archive has no command that repeats its runs"), "{refused}");
        assert!(!dir.join("made").exists());
    }
    // The scenario beside the results is what its reader would run.
    let other = "sed -i 's/20 pkt/21 pkt/' first-light.toml";
    changed_archive(dir, "b.tar.gz", other);
    let refused = error(&verify("b.tar.gz"), 2);
    assert!(refused.contains("its `first-light.toml` does not give the runs"), "{refused}");
}

#[test]
fn a_matrix_is_repeated_by_its_options() {
    let temp = tempfile::tempdir().expect("a directory");
    let dir = temp.path();
    let mut args =
        vec!["matrix", "--senders", "dctcp", "--receivers=dctcp", "--neighbours", "none"];
    args.extend(["-s", "run.duration=20 ms", "-s", "run.warmup=5 ms", "--seeds", "1", "-oout"]);
    stdout(&lowtide(dir, &args));
    let written = json(&lowtide(dir, &["--json", "bundle", "out", "-o", "a.tar.gz"]));
    let repeat = &written["bundle"]["repeat"];
    let wanted = ["matrix", "--senders=dctcp", "--receivers=dctcp", "--neighbours=none"];
    let wanted =
        [&wanted[..], &["--set=run.duration=20 ms", "--set=run.warmup=5 ms", "--seeds=1"]].concat();
    assert_eq!(*repeat, serde_json::json!(wanted), "{written}");
    let args = ["--json", "--quiet", "bundle", "a.tar.gz", "--verify", "--repeat"];
    let verified = json(&lowtide(dir, &args));
    assert_eq!(verified["repeated_digest"], written["bundle"]["digest"]);
}

#[test]
fn only_complete_and_undamaged_directories_are_packed() {
    let temp = tempfile::tempdir().expect("a directory");
    let dir = temp.path();
    stdout(&lowtide(dir, &["run", "first-light", "--part", "part", "--index", "0", "--of", "2"]));
    let part = error(&lowtide(dir, &["bundle", "part"]), 2);
    assert!(part.contains("part") && part.contains("of"), "{part}");
    let none = error(&lowtide(dir, &["bundle", "nowhere"]), 2);
    assert!(none.contains("nowhere"), "{none}");
    stdout(&lowtide(dir, &["run", "first-light", "-o", "out"]));
    fs::write(dir.join("out/report.html"), "changed").expect("written");
    let damaged = error(&lowtide(dir, &["bundle", "out"]), 2);
    assert!(damaged.contains("report.html is damaged"), "{damaged}");
    let left: Vec<_> = fs::read_dir(dir).expect("a list").flatten().map(|e| e.path()).collect();
    assert!(left.iter().all(|p| p.is_dir()), "nothing half-written: {left:?}");
}

#[test]
fn an_experiment_in_its_quick_form_is_repeated_by_name() {
    let temp = tempfile::tempdir().expect("a directory");
    let dir = temp.path();
    stdout(&lowtide(dir, &["papers", "reproduce", "dx-fig17", "--quick", "-o", "papers"]));
    shell(dir, "ln -s papers/dx-fig17/* one");
    let written = json(&lowtide(dir, &["--json", "bundle", "one", "-o", "a.tar.gz"]));
    let repeat = &written["bundle"]["repeat"];
    assert_eq!(repeat[0], "papers", "{written}");
    let args = ["--json", "--quiet", "bundle", "a.tar.gz", "--verify", "--repeat"];
    let verified = json(&lowtide(dir, &args));
    assert_eq!(verified["repeated_digest"], written["bundle"]["digest"]);
}

#[test]
fn cite_prints_the_tool_and_the_sources_of_schemes_and_experiments() {
    let here = Path::new(".");
    let tool = stdout(&lowtide(here, &["cite"]));
    assert!(tool.starts_with("@software{lowtide,") && tool.contains(env!("CARGO_PKG_VERSION")));
    let text = |args: &[&str]| stdout(&lowtide(here, &[&["cite"], args].concat()));
    let scheme = text(&["odctcp"]);
    assert!(scheme.contains("@mastersthesis{odctcp-2013,"), "{scheme}");
    assert!(scheme.contains("@techreport{rfc8257,") && !scheme.contains("tdctcp"), "{scheme}");
    assert!(!scheme.contains("@software"), "{scheme}");
    let experiment = text(&["od-fig5.1"]);
    assert!(experiment.starts_with("@mastersthesis{odctcp-2013,"), "{experiment}");
    let wrong = error(&lowtide(here, &["cite", "dctpc"]), 2);
    assert!(wrong.contains("did you mean `dctcp`?"), "{wrong}");
    let found = json(&lowtide(here, &["--json", "cite", "dx"]));
    assert_eq!(found["references"][0]["key"], "dx-ton2017", "{found}");
}

/// Every scheme names a source, so that `bundle` can cite it.
#[test]
fn every_scheme_has_a_citation() {
    let here = Path::new(".");
    let list = json(&lowtide(here, &["--json", "list", "schemes"]));
    let items = list["items"].as_array().expect("items");
    assert!(items.len() > 10, "{list}");
    for item in items {
        let name = item["name"].as_str().expect("a name");
        assert!(stdout(&lowtide(here, &["cite", name])).contains("title = "), "{name}");
    }
}

#[test]
fn man_writes_a_page_for_each_command() {
    let temp = tempfile::tempdir().expect("a directory");
    let told = stdout(&lowtide(temp.path(), &["man", "pages"]));
    let pages = fs::read_dir(temp.path().join("pages")).expect("a list").count();
    assert!(told.starts_with(&format!("{pages} man pages")), "{told}");
    let page = |name: &str| {
        fs::read_to_string(temp.path().join("pages").join(name))
            .unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    assert!(page("lowtide.1").contains("lowtide\\-run(1)"), "{}", page("lowtide.1"));
    assert!(page("lowtide-run.1").contains("\\-\\-seeds"));
    assert!(page("lowtide-papers-reproduce.1").contains("\\-\\-quick"));
    assert!(!temp.path().join("pages/lowtide-reproduce.1").exists(), "a hidden command");
}
