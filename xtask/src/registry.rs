//! Lists of registered files: modules of a folder that have a `pub static ENTRY`.
//!
//! Every `mod.rs` below `crates/*/src` with the four markers is maintained: the `pub mod` lines
//! between `begin` and `end`, the list between `list` and `list end`. Text outside of the markers
//! is never changed. The output is formatted as by rustfmt.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const BEGIN: &str = "// lowtide:registry begin";
const END: &str = "// lowtide:registry end";
const LIST: &str = "// lowtide:registry list (";
const LIST_END: &str = "// lowtide:registry list end";
/// Maximum line length, as in `rustfmt.toml`.
const WIDTH: usize = 100;

/// Error of updating the lists.
#[derive(Debug)]
pub(crate) enum Error {
    /// Reading or writing failed.
    Io(PathBuf, io::Error),
    /// The file lacks some of the markers, or their order is wrong.
    Markers(PathBuf),
    /// The text between `list` and `list end` is no declaration with a list.
    List(PathBuf),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Markers(path) => write!(
                f,
                "{}: expected the markers `{BEGIN}`, `{END}`, `{LIST}...)`, `{LIST_END}` once \
                 each, in this order",
                path.display()
            ),
            Self::List(path) => write!(
                f,
                "{}: expected `pub static NAME: TYPE = Registry::new(&[...]);` between the list \
                 markers",
                path.display()
            ),
        }
    }
}

/// The `mod.rs` files below `root` whose lists are stale; rewrites them unless `check`.
pub(crate) fn run(root: &Path, check: bool) -> Result<Vec<PathBuf>, Error> {
    let mut stale = Vec::new();
    for path in registries(&root.join("crates"))? {
        let old = read(&path)?;
        let new = rewritten(&path, &old)?;
        if new != old {
            if !check {
                write(&path, &new)?;
            }
            stale.push(path.strip_prefix(root).unwrap_or(&path).to_path_buf());
        }
    }
    Ok(stale)
}

/// All `mod.rs` files with a marker, sorted by path.
fn registries(crates: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> =
        entries(crates)?.into_iter().map(|c| c.join("src")).filter(|src| src.is_dir()).collect();
    while let Some(folder) = folders.pop() {
        for path in entries(&folder)? {
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("mod.rs") && read(&path)?.contains("// lowtide:registry") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// `old`, the text of `path`, with current lists.
fn rewritten(path: &Path, old: &str) -> Result<String, Error> {
    let names = registered(path)?;
    let lines: Vec<&str> = old.lines().collect();
    let at = |marker: &str| {
        let mut hits = lines.iter().enumerate().filter(|(_, line)| line.starts_with(marker));
        match (hits.next(), hits.next()) {
            (Some((i, _)), None) => Ok(i),
            _ => Err(Error::Markers(path.to_path_buf())),
        }
    };
    let (begin, end, list, list_end) = (at(BEGIN)?, at(END)?, at(LIST)?, at(LIST_END)?);
    if !(begin < end && end < list && list < list_end) {
        return Err(Error::Markers(path.to_path_buf()));
    }
    let declaration = Declaration::parse(&lines[list + 1..list_end].join(" "));
    let declaration = declaration.ok_or_else(|| Error::List(path.to_path_buf()))?;

    let mut out: Vec<String> = Vec::new();
    let mut keep = |from: usize, to: usize, then: Vec<String>| {
        out.extend(lines[from..to].iter().map(ToString::to_string));
        out.extend(then);
    };
    keep(0, begin + 1, names.iter().map(|name| format!("pub mod {name};")).collect());
    keep(end, list + 1, declaration.with(&names));
    keep(list_end, lines.len(), Vec::new());
    Ok(out.join("\n") + "\n")
}

/// Names of the modules beside `path` that have an entry, sorted.
fn registered(path: &Path) -> Result<Vec<String>, Error> {
    let folder = path.parent().unwrap_or(path);
    let mut names = Vec::new();
    for file in entries(folder)? {
        let (module, source) =
            if file.is_dir() { (&file, file.join("mod.rs")) } else { (&file, file.clone()) };
        let rust = source.extension().is_some_and(|e| e == "rs") && source.is_file();
        let own = source == path;
        if !rust || own || !read(&source)?.lines().any(|l| l.starts_with("pub static ENTRY:")) {
            continue;
        }
        if let Some(name) = module.file_stem().and_then(|n| n.to_str()) {
            names.push(name.to_string());
        }
    }
    names.sort();
    Ok(names)
}

/// A declaration with a list: `head = before&[...]after`.
struct Declaration {
    /// Visibility, name and type.
    head: String,
    before: String,
    after: String,
}

impl Declaration {
    /// Reads a declaration whose lines were joined by spaces.
    fn parse(text: &str) -> Option<Self> {
        let (head, value) = text.split_once('=')?;
        let (before, list) = value.split_once("&[")?;
        let (_, after) = list.rsplit_once(']')?;
        let [head, before, after] = [head, before, after].map(|part| part.trim().to_string());
        head.contains(':').then_some(Self { head, before, after })
    }

    /// Returns it with these names in rustfmt's layout: on one line, on a separate line, or one
    /// name per line.
    fn with(&self, names: &[String]) -> Vec<String> {
        let Self { head, before, after } = self;
        let items: Vec<String> = names.iter().map(|name| format!("&{name}::ENTRY")).collect();
        let list = format!("{before}&[{}]{after}", items.join(", "));
        let one = format!("{head} = {list}");
        if one.chars().count() <= WIDTH {
            return vec![one];
        }
        if list.chars().count() + 4 <= WIDTH {
            return vec![format!("{head} ="), format!("    {list}")];
        }
        let mut lines = vec![format!("{head} = {before}&[")];
        lines.extend(items.iter().map(|item| format!("    {item},")));
        lines.push(format!("]{after}"));
        lines
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let fail = |error| Error::Io(folder.to_path_buf(), error);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(fail)? {
        paths.push(entry.map_err(fail)?.path());
    }
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|error| Error::Io(path.to_path_buf(), error))
}

/// Writes a temporary file and renames it, so that no reader sees a partial file.
fn write(path: &Path, text: &str) -> Result<(), Error> {
    let fail = |error| Error::Io(path.to_path_buf(), error);
    let temporary = path.with_extension("rs.new");
    fs::write(&temporary, text).map_err(fail)?;
    fs::rename(&temporary, path).map_err(fail)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    const MOD: &str = "\
//! Doc.

mod api;
// lowtide:registry begin (kept by `cargo xtask registry`)
pub mod gone;
// lowtide:registry end

// lowtide:registry list (kept by `cargo xtask registry`)
pub static REGISTRY: Registry<Entry> = Registry::new(&[&gone::ENTRY]);
// lowtide:registry list end

pub fn find() {}
";

    /// A workspace with one registry that contains `files`.
    fn tree(text: &str, files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("crates/net/src/aqm");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("mod.rs"), text).unwrap();
        for (name, text) in files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    const ENTRY: &str = "//! Doc.\npub static ENTRY: Entry = Entry {};\n";

    #[test]
    fn the_registries_of_this_repository_are_current() {
        let root = crate::root();
        let found = registries(&root.join("crates")).unwrap();
        for folder in ["congestion/src/cc", "tcp/src/scheme", "tcp/src/profile"] {
            assert!(found.contains(&root.join(format!("crates/{folder}/mod.rs"))));
        }
        assert_eq!(run(root, true).unwrap(), Vec::<PathBuf>::new(), "run `cargo xtask registry`");
    }

    #[test]
    fn every_registered_file_of_the_transport_has_the_four_headings() {
        let transport = crate::root().join("crates/congestion/src");
        let mut checked = 0;
        for path in registries(&crate::root().join("crates")).unwrap() {
            // Schemes and profiles are data.
            let code = ["cc", "ack", "feedback"];
            if !code.iter().any(|folder| path.starts_with(transport.join(folder))) {
                continue;
            }
            for name in registered(&path).unwrap() {
                let text = read(&path.with_file_name(format!("{name}.rs"))).unwrap();
                let headings: Vec<&str> =
                    text.lines().filter(|l| l.starts_with("//! ## ")).collect();
                let expected = ["Algorithm", "Spec", "Deviations", "Kernel twin"];
                assert_eq!(headings, expected.map(|h| format!("//! ## {h}")), "{name}");
                checked += 1;
            }
        }
        assert!(checked >= 7, "{checked}");
    }

    #[test]
    fn a_stale_registry_is_found_then_rewritten_then_current() {
        let files = [
            ("step.rs", ENTRY),
            ("codel.rs", ENTRY),
            ("deep/mod.rs", ENTRY),
            ("api.rs", "pub struct Entry {}\n"),
            ("notes.txt", ENTRY),
        ];
        let root = tree(MOD, &files);
        let path = root.path().join("crates/net/src/aqm/mod.rs");
        let stale = [PathBuf::from("crates/net/src/aqm/mod.rs")];
        assert_eq!(run(root.path(), true).unwrap(), stale);
        assert_eq!(fs::read_to_string(&path).unwrap(), MOD, "checking changes nothing");
        assert_eq!(run(root.path(), false).unwrap(), stale);
        let new = fs::read_to_string(&path).unwrap();
        let expected = MOD
            .replace("pub mod gone;", "pub mod codel;\npub mod deep;\npub mod step;")
            .replace("&gone::ENTRY", "&codel::ENTRY, &deep::ENTRY, &step::ENTRY");
        assert_eq!(new, expected);
        assert!(run(root.path(), true).unwrap().is_empty());
        assert!(!path.with_extension("rs.new").exists());
    }

    #[test]
    fn missing_or_disordered_markers_are_an_error_that_names_the_file() {
        for text in [
            MOD.replace("// lowtide:registry end", "//"),
            MOD.replace("// lowtide:registry list end", "//"),
            MOD.to_string() + MOD,
        ] {
            let root = tree(&text, &[]);
            let error = run(root.path(), false).unwrap_err();
            assert!(matches!(error, Error::Markers(_)), "{error:?}");
            assert!(error.to_string().contains("mod.rs: expected the markers"), "{error}");
        }
        let root = tree(&MOD.replace("pub static REGISTRY: Registry<Entry> =", "nothing"), &[]);
        assert!(matches!(run(root.path(), false), Err(Error::List(_))));
    }

    #[test]
    fn the_list_stays_as_rustfmt_lays_it_out_at_any_length() {
        let config = crate::root().join("rustfmt.toml");
        for old in ["&[&Entry] = &[];", "Registry<Entry> = Registry::new(&[]);"] {
            let declaration = Declaration::parse(&format!("pub static REGISTRY: {old}")).unwrap();
            let mut layouts = [0; 3];
            for n in 0..14 {
                let names: Vec<String> = (0..n).map(|i| format!("marker_{i:02}")).collect();
                let lines = declaration.with(&names);
                layouts[match lines.len() {
                    1 => 0,
                    2 => 1,
                    _ => 2,
                }] += 1;
                let text = lines.join("\n") + "\n";
                assert_eq!(rustfmt(&config, &text), text);
            }
            assert!(layouts.iter().all(|n| *n > 0), "{old} {layouts:?}");
        }
    }

    fn rustfmt(config: &Path, text: &str) -> String {
        let mut child = Command::new("rustfmt")
            .arg("--config-path")
            .arg(config)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("rustfmt is part of the pinned toolchain");
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    }
}
