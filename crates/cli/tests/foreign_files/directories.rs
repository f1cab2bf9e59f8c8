//! Changed run directories and parts: manifest, tables, links in place of files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::random::{Rng, TEXTS, change_bytes};

/// Writes a changed copy of the run directory or of a part into `case`. Returns the commands.
pub(crate) fn write(case: &Path, bases: &Path, rng: &mut Rng) -> Vec<Vec<String>> {
    let part = rng.one_in(4);
    let dir = case.join("d");
    link_files(&bases.join(if part { "part" } else { "run" }), &dir);
    match rng.below(4) {
        0 => change_table(&dir, rng),
        1 => put_special_file(&dir, rng),
        _ => change_manifest(&dir, rng),
    }
    let run = bases.join("run").display().to_string();
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let commands = if part {
        ["merge m d", "check d", "merge m d", "check d"]
    } else {
        let table = *rng.pick(&["table d flows --csv", "table d runs --csv", "compare d RUN"]);
        [
            ["check d", "report d", "bundle d -o d.tar.gz"][rng.below(3)],
            table,
            "report d",
            "check d",
        ]
    };
    let count = 1 + rng.below(2);
    commands[..count].iter().map(|c| words(&c.replace("RUN", &run))).collect()
}

/// Copies a directory; its files are links to the same content, which no command may change.
fn link_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            link_files(&from, &to);
        } else {
            fs::hard_link(&from, &to).unwrap();
        }
    }
}

/// Replaces a file by new content.
fn replace(path: &Path, content: impl AsRef<[u8]>) {
    fs::remove_file(path).unwrap();
    fs::write(path, content).unwrap();
}

/// The manifest without its hash.
pub(crate) fn read_manifest(text: &str) -> Value {
    let body = &text[..text.rfind(",\n  \"blake3\"").expect("a hash")];
    serde_json::from_str(&format!("{body}\n}}")).unwrap()
}

/// The text of a manifest, with its hash.
pub(crate) fn manifest_text(manifest: &Value) -> String {
    let text = serde_json::to_string_pretty(manifest).unwrap();
    let body = text.trim_end_matches('}').trim_end();
    let hash = blake3::hash(body.as_bytes()).to_hex();
    format!("{body},\n  \"blake3\": \"{hash}\"\n}}\n")
}

fn change_manifest(dir: &Path, rng: &mut Rng) {
    let path = dir.join("manifest.json");
    let mut text = fs::read_to_string(&path).unwrap();
    if rng.one_in(4) {
        let mut bytes = text.into_bytes();
        change_bytes(&mut bytes, rng);
        return replace(&path, bytes);
    }
    let mut manifest = read_manifest(&text);
    for _ in 0..=rng.below(2) {
        change_json(&mut manifest, rng);
    }
    text = manifest_text(&manifest);
    replace(&path, text);
}

/// Changes a value, or adds an entry of a file.
pub(crate) fn change_json(value: &mut Value, rng: &mut Rng) {
    if rng.one_in(3)
        && let Some(files) = value.get_mut("files").and_then(Value::as_array_mut)
    {
        let hash = blake3::hash(b"secret\n").to_hex().to_string();
        files.push(json!({"path": rng.pick(&TEXTS), "bytes": 7, "blake3": hash}));
        return;
    }
    change_within(value, rng);
}

/// Replaces, removes or repeats the value, or one within it.
fn change_within(value: &mut Value, rng: &mut Rng) {
    if !rng.one_in(4) {
        match value {
            Value::Array(items) if !items.is_empty() => {
                let at = rng.below(items.len());
                return change_within(&mut items[at], rng);
            }
            Value::Object(fields) if !fields.is_empty() => {
                let at = rng.below(fields.len());
                return fields.values_mut().nth(at).into_iter().for_each(|v| change_within(v, rng));
            }
            _ => {}
        }
    }
    *value = match (rng.below(6), &*value) {
        (0, Value::Array(items)) => items.iter().chain(items).cloned().collect(),
        (0, _) => Value::Null,
        (1, _) => json!(u64::MAX),
        (2, _) => json!(-1.5e300),
        (3, _) => json!([[]]),
        _ => json!(rng.pick(&TEXTS)),
    };
}

fn all_files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        if entry.path().is_dir() { all_files(&entry.path(), out) } else { out.push(entry.path()) }
    }
}

/// Changes a file, mostly with fitting hashes, so that it is read.
fn change_table(dir: &Path, rng: &mut Rng) {
    let mut files = Vec::new();
    all_files(dir, &mut files);
    files.sort();
    files.retain(|path| !path.ends_with("manifest.json"));
    let path = rng.pick(&files).clone();
    let mut content = fs::read(&path).unwrap();
    change_bytes(&mut content, rng);
    replace(&path, &content);
    if rng.one_in(4) {
        return;
    }
    let manifest = dir.join("manifest.json");
    let mut value = read_manifest(&fs::read_to_string(&manifest).unwrap());
    fit_entry(&mut value, path.strip_prefix(dir).unwrap().to_str().unwrap(), &content);
    replace(&manifest, manifest_text(&value));
}

/// Gives the entry of a file its size and hash.
pub(crate) fn fit_entry(manifest: &mut Value, path: &str, content: &[u8]) {
    for entry in manifest["files"].as_array_mut().into_iter().flatten() {
        if entry["path"] == path {
            entry["bytes"] = json!(content.len());
            entry["blake3"] = json!(blake3::hash(content).to_hex().to_string());
        }
    }
}

/// Puts a link or a pipe in the place of a file or a directory.
fn put_special_file(dir: &Path, rng: &mut Rng) {
    let names =
        ["manifest.json", "flows.parquet", "figures", "resolved", "partial", "report.html", "new"];
    let place = dir.join(rng.pick(&names));
    let _ = fs::remove_file(&place).or_else(|_| fs::remove_dir_all(&place));
    match rng.below(3) {
        // Made beforehand: a process for it would be reported.
        0 => fs::hard_link(dir.join("../../pipe"), &place).unwrap(),
        1 => symlink("../../outside", &place).unwrap(),
        _ => symlink("/dev/zero", &place).unwrap(),
    }
}

/// Makes the pipe that cases use.
pub(crate) fn make_pipe(place: &Path) {
    assert!(Command::new("mkfifo").arg(place).status().unwrap().success());
}

pub(crate) fn a_rewritten_manifest_is_valid() {
    let temp = tempfile::tempdir().unwrap();
    let lowtide = env!("CARGO_BIN_EXE_lowtide");
    let run = |args: &[&str]| {
        let status = Command::new(lowtide).args(args).current_dir(temp.path()).status();
        assert!(status.unwrap().success(), "{args:?}");
    };
    run(&["run", "first-light", "-q", "--seeds", "1", "-o", "out"]);
    let path = temp.path().join("out/manifest.json");
    let value = read_manifest(&fs::read_to_string(&path).unwrap());
    fs::write(&path, manifest_text(&value)).unwrap();
    run(&["check", "out"]);
}

fn lowtide(dir: &Path, args: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_lowtide")).args(args).current_dir(dir).output().unwrap()
}

/// A run directory `run` and a part `part`, with a secret file beside them.
fn directories(dir: &Path) {
    let run = ["run", "first-light", "-q", "--seeds", "1"];
    for more in [&["-o", "run"][..], &["--index", "0", "--of", "1", "--part", "part"]] {
        let made = lowtide(dir, &[&run[..], more].concat());
        assert!(made.status.success(), "{made:?}");
    }
    fs::write(dir.join("secret.txt"), "secret\n").unwrap();
}

/// Commands that read a directory, with a directory that is whole.
const READERS: [&[&str]; 8] = [
    &["check", "run"],
    &["bundle", "run", "-o", "made.tar.gz"],
    &["report", "run"],
    &["table", "run", "flows"],
    &["compare", "run", "run"],
    &["diff", "run", "run"],
    &["merge", "made", "part"],
    &["run", "first-light", "-q", "--seeds", "1", "-o", "run"],
];

/// Asserts that every reader refuses the directories, for the same reason.
fn assert_refused(dir: &Path, reason: &str) {
    for args in READERS {
        let output = lowtide(dir, args);
        let text = String::from_utf8_lossy(&output.stderr);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
        assert!(text.contains(reason), "{args:?}: {reason}: {text}");
        assert!(!dir.join("made").exists() && !dir.join("made.tar.gz").exists(), "{args:?}");
    }
    assert_eq!(fs::read_to_string(dir.join("secret.txt")).unwrap(), "secret\n");
}

pub(crate) fn manifests_that_lead_out_are_refused_by_every_reader() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    directories(dir);
    let absolute = dir.join("secret.txt").display().to_string();
    let entry = |path: &str| {
        let blake3 = blake3::hash(b"secret\n").to_hex().to_string();
        json!({"path": path, "bytes": 7, "blake3": blake3})
    };
    let honest = ["run", "part"].map(|name| dir.join(name).join("manifest.json"));
    let texts = honest.clone().map(|path| fs::read_to_string(path).unwrap());
    let rewrite = |change: &dyn Fn(&mut Value)| {
        for (path, text) in honest.iter().zip(&texts) {
            let mut manifest = read_manifest(text);
            change(&mut manifest);
            fs::write(path, manifest_text(&manifest)).unwrap();
        }
    };
    for (path, reason) in [
        ("../secret.txt", "leaves its folder"),
        ("figures/../../secret.txt", "leaves its folder"),
        ("./../secret.txt", "leaves its folder"),
        (&absolute, "is absolute"),
        ("/dev/zero", "is absolute"),
        ("..\\secret.txt", "a backslash"),
        ("a\nb", "control character"),
    ] {
        rewrite(&|manifest| {
            if let Some(files) = manifest["files"].as_array_mut() {
                files.push(entry(path));
            }
        });
        assert_refused(dir, reason);
    }
    rewrite(&|manifest| manifest["scenario"] = json!("../../secret"));
    assert_refused(dir, "has a slash");
    rewrite(&|manifest| manifest["scenario_hash"] = json!("../x"));
    assert_refused(dir, "has a slash");
}

/// Opening a pipe waits for a writer, so it must not be opened where a directory is expected.
pub(crate) fn pipes_in_place_of_directories_are_refused_by_every_reader() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    directories(dir);
    for (root, name, readers) in [
        ("run", "figures", &READERS[..3]),
        ("run", "resolved", &READERS[..3]),
        ("part", "partial", &READERS[6..7]),
    ] {
        let (place, kept) = (dir.join(root).join(name), dir.join("kept"));
        fs::rename(&place, &kept).unwrap();
        make_pipe(&place);
        for args in readers {
            let mut command = Command::new("timeout");
            command.args(["20", env!("CARGO_BIN_EXE_lowtide")]).args(*args).current_dir(dir);
            let output = command.output().unwrap();
            // Some replace what is no result, or do not need it.
            let code = output.status.code().unwrap();
            assert!([0, 1, 2].contains(&code), "{name}: {args:?}: {output:?}");
        }
        let _ = fs::remove_file(&place);
        let _ = fs::remove_dir_all(&place);
        fs::rename(&kept, &place).unwrap();
    }
}

pub(crate) fn links_in_run_directories_are_refused_by_every_reader() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    directories(dir);
    fs::create_dir(dir.join("outside")).unwrap();
    fs::write(dir.join("outside/old.tmp"), "old").unwrap();
    for (name, target) in [
        ("figures", "../outside"),
        ("partial", "../outside"),
        ("flows.parquet", "../secret.txt"),
        ("manifest.json", "/dev/zero"),
        ("plan.toml", "/dev/zero"),
        ("new", "../outside"),
    ] {
        for root in ["run", "part"].map(|root| dir.join(root)) {
            let (place, kept) = (root.join(name), dir.join("kept"));
            let existed = fs::rename(&place, &kept).is_ok();
            symlink(target, &place).unwrap();
            let readers = if root.ends_with("part") { &READERS[6..7] } else { &READERS[..6] };
            for args in readers {
                let output = lowtide(dir, args);
                let text = String::from_utf8_lossy(&output.stderr);
                assert_eq!(output.status.code(), Some(2), "{name}: {args:?}: {output:?}");
                assert!(text.contains("is a symbolic link"), "{name}: {args:?}: {text}");
            }
            fs::remove_file(&place).unwrap();
            if existed {
                fs::rename(&kept, &place).unwrap();
            }
        }
    }
    let outside = fs::read_dir(dir.join("outside")).unwrap().count();
    assert_eq!(outside, 1, "nothing was written or removed");
    // The directory itself may be reached by a link.
    symlink("run", dir.join("way")).unwrap();
    assert!(lowtide(dir, &["check", "way"]).status.success());
}
