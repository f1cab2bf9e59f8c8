//! Files of a crate import one way: no circle of files, parent and child excluded.
//!
//! A name that a module passes on with `use` counts for the file that has it, so a circle through
//! `pub use` in a parent is one too. Invisible are: methods of a type that is not named, macros of
//! the same name in several files, and names by `use ...::*` between files of a crate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::modules::{ModulePath, Modules};

/// For each file the files that it imports from, with one line and name as example.
type Edges = BTreeMap<ModulePath, BTreeMap<ModulePath, (usize, String)>>;

/// Names of `use` that lead to names of `use`.
const LONGEST_CHAIN: usize = 16;

/// The module that has the item `path`, seen from `here`; none if another crate has it.
fn resolve(all: &Modules, here: &[String], path: &[String], chain: usize) -> Option<ModulePath> {
    let mut at = here.to_vec();
    let mut names = path.iter().peekable();
    let mut first = true;
    while let Some(name) = names.peek() {
        match name.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => drop(at.pop()),
            _ => break,
        }
        first = false;
        names.next();
    }
    while let Some(name) = names.next() {
        let mut child = at.clone();
        child.push(name.clone());
        if all.by_path.contains_key(&child) {
            at = child;
        } else if let Some(import) =
            all.by_path[&at].imports.iter().find(|i| i.name == *name && i.path != path)
        {
            let mut longer = import.path.clone();
            longer.extend(names.cloned());
            return if chain == 0 { None } else { resolve(all, &at, &longer, chain - 1) };
        } else {
            return if first { None } else { Some(at) };
        }
        first = false;
    }
    Some(at)
}

fn edges(all: &Modules) -> Edges {
    let mut macros: BTreeMap<&str, Vec<&ModulePath>> = BTreeMap::new();
    for (path, module) in &all.by_path {
        for name in &module.macros {
            macros.entry(name).or_default().push(path);
        }
    }
    let mut edges = Edges::new();
    for (here, module) in &all.by_path {
        let from = all.owner(here);
        let imports = module.imports.iter().map(|i| (i.line, &i.path));
        let named = imports.chain(module.paths.iter().map(|(line, path)| (*line, path)));
        let mut targets: Vec<(usize, String, ModulePath)> = named
            .filter_map(|(line, path)| {
                Some((line, path.join("::"), resolve(all, here, path, LONGEST_CHAIN)?))
            })
            .collect();
        targets.extend(module.macro_calls.iter().filter_map(|(line, name)| {
            let [owner] = macros.get(name.as_str())?.as_slice() else { return None };
            Some((*line, format!("{name}!"), (*owner).clone()))
        }));
        for (line, name, target) in targets {
            let to = all.owner(&target);
            if !from.starts_with(&to) && !to.starts_with(&from) {
                edges.entry(from.clone()).or_default().entry(to).or_insert((line, name));
            }
        }
    }
    edges
}

/// All that `from` reaches over one edge or more.
fn reached<'a>(edges: &'a Edges, from: &ModulePath) -> BTreeSet<&'a ModulePath> {
    let mut seen = BTreeSet::new();
    let mut todo: Vec<&ModulePath> = edges.get(from).into_iter().flat_map(BTreeMap::keys).collect();
    while let Some(file) = todo.pop() {
        if seen.insert(file) {
            todo.extend(edges.get(file).into_iter().flat_map(BTreeMap::keys));
        }
    }
    seen
}

/// Each circle of files of the crate with the root `file`: its imports, one a line.
fn circles(file: &Path) -> Vec<Vec<String>> {
    let all = Modules::read(file);
    let edges = edges(&all);
    let reach: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
        edges.keys().map(|from| (from, reached(&edges, from))).collect();
    let mut circles = Vec::new();
    let mut done = BTreeSet::new();
    for (from, reached) in reach.iter().filter(|(from, reached)| reached.contains(*from)) {
        let members: BTreeSet<&ModulePath> = reached
            .iter()
            .copied()
            .filter(|to| reach.get(to).is_some_and(|back| back.contains(from)))
            .collect();
        if !done.insert(members.clone()) {
            continue;
        }
        let mut lines = Vec::new();
        for from in &members {
            for (to, (line, name)) in edges[*from].iter().filter(|(to, _)| members.contains(to)) {
                let file = |path: &ModulePath| all.files[path].display().to_string();
                lines.push(format!("{}:{line} names {name} of {}", file(from), file(to)));
            }
        }
        circles.push(lines);
    }
    circles
}

/// The roots of the crates of the workspace.
fn roots(workspace: &Path) -> Vec<PathBuf> {
    let mut roots = Vec::new();
    for group in ["crates", "examples"] {
        for package in workspace.join(group).read_dir().expect("a folder") {
            let src = package.expect("an entry").path().join("src");
            roots.extend(["lib.rs", "main.rs"].map(|name| src.join(name)));
        }
    }
    roots.push(workspace.join("xtask/src/main.rs"));
    roots.retain(|root| root.exists());
    roots.sort();
    roots
}

#[test]
fn files_import_one_way() {
    let roots = roots(crate::root());
    assert!(roots.len() > 35, "{roots:?}");
    let mut found = Vec::new();
    for root in roots {
        for circle in circles(&root) {
            found.push(circle.join("\n"));
        }
    }
    assert!(
        found.is_empty(),
        "{} circles of files; move what two files share to a third below them:\n\n{}",
        found.len(),
        found.join("\n\n")
    );
}

/// The files of each circle of a crate with these files.
fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    let names = |circle: Vec<String>| {
        let from = |line: &String| {
            let file = line.split(".rs:").next().unwrap_or_default();
            Path::new(file).strip_prefix(folder.path()).expect("a file").display().to_string()
        };
        circle.iter().map(from).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
    };
    circles(&folder.path().join("lib.rs")).into_iter().map(names).collect()
}

#[test]
fn circles_are_found_however_a_file_names_another() {
    let back = ("b.rs", "use super::a::A;\npub struct B;\n");
    for (root, a) in [
        ("mod a; mod b;", "use crate::b::B; pub struct A;"),
        ("mod a; mod b;", "use crate::{b::{self as other, B}}; pub struct A;"),
        ("mod a; mod b;", "pub struct A; fn f() { let _ = crate::b::B; }"),
        ("mod a; mod b;", "pub struct A; fn f() { println!(\"{:?}\", super::b::B); }"),
        ("mod a; mod b;", "pub struct A; mod inner { use super::super::b::B; }"),
        // The root passes the name on.
        ("mod a; mod b; pub use b::B;", "use crate::B; pub struct A;"),
        ("mod a; mod b; use b::B;", "pub struct A; fn f(_: super::B) {}"),
        (
            "#[macro_use] mod b; mod a; macro_rules! x { () => {} }",
            "use crate::b::B; pub struct A;",
        ),
    ] {
        assert_eq!(circles_of(&[("lib.rs", root), ("a.rs", a), back]), ["a b"], "{root} {a}");
    }
    let named = ("b.rs", "use super::a::A;\nmacro_rules! b { () => {} }\n");
    let root = "#[macro_use] mod b; mod a;";
    assert_eq!(circles_of(&[("lib.rs", root), ("a.rs", "pub struct A; b!();"), named]), ["a b"]);
    // A module that is imported, and an item of its child.
    let deep = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b; pub struct A; fn f(_: b::deep::D) {}"),
        ("b/mod.rs", "pub mod deep;"),
        ("b/deep.rs", "use crate::a::A; pub struct D;"),
    ];
    assert_eq!(circles_of(&deep), ["a b/deep"]);
    let three = [
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "use crate::b::B;"),
        ("b.rs", "use crate::c::C;"),
        ("c.rs", "use crate::a::A;"),
        ("d.rs", "use crate::a::A;"),
    ];
    assert_eq!(circles_of(&three), ["a b c"]);
}

#[test]
fn tests_and_parents_make_no_circle() {
    let one_way = ("b.rs", "use super::a::A;\npub struct B;\n");
    for a in [
        "pub struct A; #[cfg(test)] use crate::b::B;",
        "pub struct A; #[cfg(test)] mod tests { use crate::b::B; }",
        "pub struct A; // use crate::b::B;\nconst TEXT: &str = \"crate::b::B\";",
        "use b::B; pub struct A;",
        "pub struct A { b: u8 }",
    ] {
        let found = circles_of(&[("lib.rs", "mod a; mod b;"), ("a.rs", a), one_way]);
        assert_eq!(found, Vec::<String>::new(), "{a}");
    }
    let family = [
        ("lib.rs", "mod a; pub use a::A; pub struct R;"),
        ("a.rs", "mod child; use child::C; pub struct A;"),
        ("a/child.rs", "use super::A; use crate::R; pub struct C;"),
    ];
    assert_eq!(circles_of(&family), Vec::<String>::new());
}
