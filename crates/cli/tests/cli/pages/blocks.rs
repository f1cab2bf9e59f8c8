//! Every code block of every page is tested by its kind, or marked as not tested.
//!
//! - `console`: run, and the output compared (`pages.rs`; of the third part of the tutorial in
//!   `examples/own-parts`).
//! - `sh`: the syntax by bash, the commands and options by the help of the command.
//! - `toml`: a scenario by `lowtide check`; a part of one together with a scenario that it fits.
//! - `rust`: compiled as a doctest, or equal to a part of a file that is compiled.
//! - Blocks that show a file (`` `name`: `` before them) equal that file of `examples/own-crate`.
//! - `python`, `sql`: run by the tests of the Python package, or equal to a file that they run.
//! - `json`: parsed.
//! - `text`, `rs` (code for other libraries), `latex`: not tested.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use toml::Table;

use super::root;
use super::transcript::{Block, blocks};

/// Pages whose `console` blocks a test runs.
const RUN: [&str; 6] = [
    "README.md",
    "docs/explanation/not-simulated.md",
    "docs/tutorial/1-first-run.md",
    "docs/tutorial/2-own-scenario.md",
    "docs/tutorial/3-own-scheme.md",
    "docs/tutorial/4-real-packets.md",
];

/// Pages with `rust` blocks, each with the file that compiles them.
const COMPILED: [(&str, &str); 4] = [
    ("CONTRIBUTING.md", "examples/own-parts/src/main.rs"),
    ("docs/howto/from-quinn-proto.md", "crates/tcp/src/lib.rs"),
    ("docs/howto/from-smoltcp.md", "crates/tcp/src/lib.rs"),
    ("docs/tutorial/3-own-scheme.md", "examples/own-crate"),
];

/// Pages with `python` and `sql` blocks, each with the test that runs them, or the folder of the
/// programs that it runs.
const PYTHON: [(&str, &str); 7] = [
    ("docs/howto/python.md", "crates/python/tests/test_guide.py"),
    ("docs/howto/sweeps-dask.md", "examples/sweeps"),
    ("docs/howto/sweeps-ray.md", "examples/sweeps"),
    ("docs/howto/sweeps-slurm.md", "examples/sweeps"),
    ("docs/howto/sweeps.md", "crates/python/tests/test_guide.py"),
    ("docs/howto/tables.md", "crates/python/tests/test_guide.py"),
    ("docs/tutorial/3-own-scheme.md", "examples/own-crate"),
];

/// Parts of scenarios, by their first line: the scenario that they complete.
const BASES: [(&str, &str); 7] = [
    ("[run]", "leaf-spine"),
    ("[switch]", "leaf-spine"),
    ("[failure.cut]", "leaf-spine"),
    ("[pipe.wan]", "dumbbell-10g"),
    ("[compare]", "queue-buildup"),
    ("[sweep]", "queue-buildup"),
    ("[question]", "queue-buildup"),
];

fn lowtide(args: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_lowtide")).args(args).output().expect("the command")
}

/// Returns the blocks of all pages, by the path of the page.
fn pages() -> BTreeMap<String, Vec<Block>> {
    fn markdown(folder: &Path, out: &mut Vec<String>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                markdown(&path, out);
            } else if path.extension().is_some_and(|kind| kind == "md") {
                let path = path.strip_prefix(root()).expect("a page of the workspace");
                out.push(path.display().to_string());
            }
        }
    }
    let mut names = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned()];
    markdown(&root().join("docs"), &mut names);
    let read = |name: String| {
        let found = blocks(&fs::read_to_string(root().join(&name)).expect("a page"));
        (name, found)
    };
    names.into_iter().map(read).filter(|(_, blocks)| !blocks.is_empty()).collect()
}

/// Returns the blocks of a kind, each with its page and place.
fn of_kind(kind: &str) -> Vec<(String, String, Block)> {
    let all = pages().into_iter().flat_map(|(page, blocks)| {
        blocks.into_iter().map(move |block| (page.clone(), format!("{page}:{}", block.line), block))
    });
    let found: Vec<_> = all.filter(|(_, _, block)| block.info == kind).collect();
    found
}

/// Returns how a block is tested; `None` if its kind is unknown.
fn tested(page: &str, block: &Block) -> Option<&'static str> {
    if block.file.is_some() {
        return Some("a file of `examples/own-crate`");
    }
    Some(match block.info.as_str() {
        "console" => "run, output compared",
        "sh" => "syntax, commands, options",
        "toml" if page == "docs/reference/measures.md" => "syntax",
        "toml" => "`lowtide check`",
        "rust" => "compiled",
        "python" | "sql" => "run",
        "json" => "parsed",
        "text" | "rs" | "latex" => "not tested",
        _ => return None,
    })
}

const MARK: &str = "<!-- Code blocks of the pages; a test writes and compares this table. -->\n";

#[test]
fn each_block_has_a_kind_and_each_page_is_listed() {
    let mut table = String::from("\n| page | code blocks |\n|---|---|\n");
    // Pages of schemes are generated from the code and tested by their crate.
    for (page, blocks) in pages().into_iter().filter(|(page, _)| !page.contains("/schemes/")) {
        let mut kinds: BTreeSet<(&str, &str)> = BTreeSet::new();
        for block in &blocks {
            let how = tested(&page, block);
            let how = how.unwrap_or_else(|| panic!("{page}:{}: `{}`", block.line, block.info));
            kinds.insert((&block.info, how));
        }
        let cell: Vec<String> =
            kinds.iter().map(|(kind, how)| format!("`{kind}`: {how}")).collect();
        writeln!(table, "| `{page}` | {} |", cell.join("; ")).expect("a text");
    }
    table.push('\n');
    let path = root().join("docs/explanation/testing.md");
    let text = fs::read_to_string(&path).expect("the page");
    let (head, rest) = text.split_once(MARK).expect("the mark");
    let (old, tail) = rest.split_once(MARK).expect("the end");
    if std::env::var_os("LOWTIDE_WRITE_DOCS").is_some() {
        fs::write(&path, format!("{head}{MARK}{table}{MARK}{tail}")).expect("the page");
    } else {
        assert_eq!(old, table, "LOWTIDE_WRITE_DOCS=1 cargo test -p lowtide --test cli each_block");
    }
}

#[test]
fn every_page_with_a_transcript_is_run() {
    let found: BTreeSet<String> = of_kind("console").into_iter().map(|(page, ..)| page).collect();
    assert_eq!(found, RUN.map(str::to_owned).into());
}

/// Commands of a line of a shell, each as words after `lowtide`.
fn commands(line: &str) -> Vec<Vec<String>> {
    let words = shlex::split(line).unwrap_or_default();
    let ends = |word: &String| ["|", "||", "&&", ";", "&", "do", "done"].contains(&word.as_str());
    words
        .split(ends)
        .filter_map(|words| {
            let redirected = words.iter().position(|word| word.starts_with(['>', '<']));
            let words = &words[..redirected.unwrap_or(words.len())];
            let of_cargo = words.first().is_some_and(|word| word == "cargo")
                && words.get(1).is_some_and(|word| word == "run")
                && !words.iter().any(|word| word == "-p");
            let name = |word: &String| {
                if of_cargo { word == "--" } else { word.rsplit('/').next() == Some("lowtide") }
            };
            let at = words.iter().position(name)?;
            // `cargo install --path ...`, `apt install lowtide` and the like are other programs.
            let other = if of_cargo { &["install"][..] } else { &["install", "alias", "cargo"] };
            let of_other = words[..at].iter().any(|word| other.contains(&word.as_str()));
            (!of_other).then(|| words[at + 1..].to_vec())
        })
        .collect()
}

/// Help texts of commands, by their words.
#[derive(Default)]
struct Helps(BTreeMap<Vec<String>, Option<String>>);

impl Helps {
    /// Returns the help of a command; `None` if this build lacks it.
    fn of(&mut self, place: &str, path: &[String]) -> Option<String> {
        let help = || {
            let mut args: Vec<&str> = path.iter().map(String::as_str).collect();
            args.push("--help");
            let output = lowtide(&args);
            let errors = String::from_utf8_lossy(&output.stderr);
            if errors.contains("this build has no command") {
                return None;
            }
            assert!(output.status.success(), "{place}: `lowtide {}`: {errors}", path.join(" "));
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        };
        self.0.entry(path.to_vec()).or_insert_with(help).clone()
    }
}

/// Whether a help text names an option.
fn names_option(help: &str, option: &str) -> bool {
    let ends = |c: char| !(c.is_ascii_alphanumeric() || c == '-');
    help.match_indices(option).any(|(at, _)| {
        help[..at].ends_with([' ', '[', '`', '\n', '('])
            && help[at + option.len()..].starts_with(ends)
    })
}

#[test]
fn shell_blocks_name_commands_and_options_that_exist() {
    let mut helps = Helps::default();
    let (mut seen, mut options) = (0, 0);
    for (_, place, block) in of_kind("sh") {
        let mut bash = Command::new("bash");
        bash.arg("-n").stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut bash = bash.spawn().expect("bash");
        bash.stdin.take().expect("a pipe").write_all(block.text.as_bytes()).expect("bash reads");
        let output = bash.wait_with_output().expect("bash");
        assert!(output.status.success(), "{place}: {}", String::from_utf8_lossy(&output.stderr));
        for command in block.text.replace("\\\n", " ").lines().flat_map(commands) {
            seen += 1;
            let mut path: Vec<String> = Vec::new();
            let mut help = helps.of(&place, &path);
            for word in &command {
                let Some(text) = &help else { break };
                if word == "--" {
                    break;
                }
                let option = word.split('=').next().unwrap_or(word);
                // A number, or the standard streams.
                let is_option = option.len() > 1
                    && option.starts_with('-')
                    && !option[1..].starts_with(|c: char| c.is_ascii_digit());
                let is_command = text.lines().any(|line| {
                    line.starts_with("  ") && line.split_whitespace().next() == Some(word)
                });
                if is_option {
                    let option = if option.starts_with("--") { option } else { &option[..2] };
                    let known = names_option(text, option);
                    assert!(known, "{place}: `lowtide {}` has no `{option}`", path.join(" "));
                    options += 1;
                } else if (path.len() < 2 && is_command)
                    || (path.is_empty() && word.chars().all(|c| c.is_ascii_lowercase()))
                {
                    path.push(word.clone());
                    help = helps.of(&place, &path);
                }
            }
        }
    }
    assert!(seen > 100 && options > 150, "{seen} commands, {options} options");
}

/// Adds the tables of `part` to `whole`.
fn merge(whole: &mut Table, part: Table) {
    for (key, value) in part {
        match (whole.get_mut(&key), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) if key != "compare" => {
                // A marker of another kind has other keys.
                if new.contains_key("kind") {
                    *old = new;
                } else {
                    merge(old, new);
                }
            }
            (_, value) => {
                whole.insert(key, value);
            }
        }
    }
}

/// The hosts of the graph of the page on scenarios.
const GRAPH: &str = r#"
schema = 1
title = "A graph"
[run]
duration = "1 s"
[topology]
kind = "graph"
link-rate = "1 Gbit/s"
link-delay = "10 us"
[switch]
buffer = "100 pkt"
[hosts.web]
count = 2
[hosts.db]
count = 2
[traffic.reads]
from = "db"
to = "web"
count = 2
size = "1 MB"
"#;

/// Returns the whole scenario of a block.
fn scenario(place: &str, text: &str) -> String {
    let part: Table = text.parse().unwrap_or_else(|error| panic!("{place}: {error}"));
    if part.contains_key("schema") {
        return text.to_owned();
    }
    let first = text.lines().next().unwrap_or_default();
    let (whole, part) = if part.contains_key("switches") {
        (GRAPH.to_owned(), Table::from_iter([("topology".to_owned(), part.into())]))
    } else {
        let base = BASES.iter().find(|(line, _)| *line == first);
        let (_, base) = base.unwrap_or_else(|| panic!("{place}: no scenario for `{first}`"));
        (String::from_utf8(lowtide(&["show", base]).stdout).expect("a text"), part)
    };
    let mut whole: Table = whole.parse().expect("a scenario");
    merge(&mut whole, part);
    whole.to_string()
}

#[test]
fn toml_blocks_are_valid_scenarios() {
    let folder = tempfile::tempdir().expect("a folder");
    let found = of_kind("toml");
    assert!(found.len() > 8, "{} blocks", found.len());
    for (page, place, block) in found {
        if block.file.is_some() {
            continue;
        }
        if page == "docs/reference/measures.md" {
            // Alternatives of one key, and `..` for the rest of a value.
            let text = block.text.replace("{ .. }", "{}");
            let parts: Vec<&str> =
                if text.contains("\n[") { vec![text.as_str()] } else { text.lines().collect() };
            for part in parts {
                part.parse::<Table>().unwrap_or_else(|error| panic!("{place}: {part}: {error}"));
            }
            continue;
        }
        let file = folder.path().join("block.toml");
        fs::write(&file, scenario(&place, &block.text)).expect("a file");
        let output = lowtide(&["check", file.to_str().expect("a path")]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{place}: {errors}");
    }
}

#[test]
fn rust_blocks_are_compiled() {
    let read = |file: &str| fs::read_to_string(root().join(file)).expect(file);
    let mut pages = BTreeSet::new();
    for (page, place, block) in of_kind("rust") {
        let (_, file) = COMPILED.iter().find(|(known, _)| *known == page).expect(&place);
        pages.insert(page.clone());
        if file.ends_with("lib.rs") {
            let name = page.rsplit('/').next().expect("a name");
            let doctest = format!("#[doc = include_str!(\"../../../docs/howto/{name}\")]");
            assert!(read(file).contains(&doctest), "{place}: {file} has no doctest");
        } else if block.file.is_none() {
            let text = read(file);
            let mut lines = text.lines().map(str::trim);
            for line in block.text.lines().map(str::trim) {
                assert!(lines.any(|real| real == line), "{place}: {file} lacks `{line}` there");
            }
        }
    }
    assert_eq!(pages, COMPILED.map(|(page, _)| page.to_owned()).into());
}

#[test]
fn files_that_a_page_shows_are_those_of_the_example() {
    let mut shown = BTreeSet::new();
    for (page, blocks) in pages() {
        for block in blocks {
            let Some(name) = block.file else { continue };
            let file = format!("examples/own-crate/{name}");
            let text = fs::read_to_string(root().join(&file)).expect(&file);
            assert_eq!(block.text, text, "{page}:{}: {file}", block.line);
            shown.insert(name);
        }
    }
    let all = ["Cargo.toml", "capped.py", "capped.toml", "src/capped.rs", "src/main.rs"];
    assert_eq!(shown, all.map(str::to_owned).into());
}

#[test]
fn python_and_sql_blocks_are_run() {
    let mut pages = BTreeSet::new();
    for (page, place, block) in of_kind("python").into_iter().chain(of_kind("sql")) {
        let (_, test) = PYTHON.iter().find(|(known, _)| *known == page).expect(&place);
        pages.insert(page.clone());
        let path = root().join(test);
        if path.is_dir() {
            let programs = fs::read_dir(&path).expect(test).map(|entry| entry.expect(test).path());
            let mut texts = programs.filter_map(|path| fs::read_to_string(path).ok());
            assert!(texts.any(|text| text == block.text), "{place}: no file of {test} is equal");
        } else {
            let name = page.rsplit('/').next().expect("a name");
            let text = fs::read_to_string(&path).expect(test);
            assert!(text.contains(&format!("\"{name}\"")), "{place}: {test} does not run {name}");
        }
    }
    assert_eq!(pages, PYTHON.map(|(page, _)| page.to_owned()).into());
}

#[test]
fn json_blocks_are_json() {
    for (_, place, block) in of_kind("json") {
        let value = serde_json::from_str::<serde_json::Value>(&block.text);
        assert!(value.is_ok(), "{place}: {value:?}");
    }
}
