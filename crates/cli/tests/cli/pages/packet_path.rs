//! The page on the path of a packet: the files and functions that it and its picture name exist.

use std::collections::BTreeMap;
use std::fs;

use super::root;

const PAGE: &str = "docs/explanation/packet-path.md";
const PICTURE: &str = "docs/img/packet-path.svg";

/// Returns the texts between backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Returns the links of a text to files of the repository, each with the text before it.
fn links(text: &str) -> Vec<(&str, &str)> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](../../") {
        let (target, more) = after.split_once(')').expect("the end of a link");
        out.push((before.rsplit_once('[').expect("the start of a link").0, target));
        rest = more;
    }
    out
}

fn source(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{PAGE}: {file}: {error}"))
}

fn has_function(source: &str, name: &str) -> bool {
    source.contains(&format!("fn {name}(")) || source.contains(&format!("fn {name}<"))
}

#[test]
fn its_files_and_functions_exist() {
    let page = fs::read_to_string(root().join(PAGE)).expect(PAGE);
    let files: BTreeMap<&str, String> =
        links(&page).into_iter().map(|(_, file)| (file, source(file))).collect();
    assert!(files.len() > 15, "{} files", files.len());
    let mut functions = 0;
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.contains("](../../"));
    for row in rows {
        let cells: Vec<&str> = row.split('|').collect();
        let file = links(cells[2])[0].1;
        for name in quoted(cells[3]) {
            assert!(has_function(&files[file], name), "{PAGE}: {file} has no function `{name}`");
            functions += 1;
        }
    }
    assert!(functions >= 17, "{functions} functions in the table");
    // "`a` and `b` in [file]": functions of that file.
    for (before, file) in links(&page) {
        let words: Vec<&str> = before.split_whitespace().collect();
        let Some((&"in", words)) = words.split_last() else { continue };
        let is_name = |word: &&str| word.starts_with('`') && word.ends_with(['`', ',']);
        let named = words.rsplit(|word| !is_name(word) && *word != "and").next();
        for name in named.into_iter().flatten().flat_map(|word| quoted(word)) {
            assert!(has_function(&files[file], name), "{PAGE}: {file} has no function `{name}`");
            functions += 1;
        }
    }
    assert!(functions >= 25, "{functions} functions");
    // Every other name in backquotes occurs in a file that the page links to.
    for name in quoted(&page).filter(|name| name.contains(['_', ':'])) {
        let last = name.rsplit("::").next().unwrap_or(name);
        let known = files.values().any(|text| text.contains(last));
        assert!(known, "{PAGE}: no file that it links to has `{name}`");
    }
}

#[test]
fn the_picture_names_the_steps_of_the_table() {
    let page = fs::read_to_string(root().join(PAGE)).expect(PAGE);
    let picture = fs::read_to_string(root().join(PICTURE)).expect(PICTURE);
    let texts: Vec<&str> = picture
        .lines()
        .filter(|line| line.starts_with("<text"))
        .filter_map(|line| line.split(['<', '>']).nth(2))
        .collect();
    let mut drawn: Vec<(u32, &str)> = texts
        .windows(2)
        .filter_map(|pair| Some((pair[0].split(' ').next()?.parse().ok()?, pair[1])))
        .collect();
    drawn.sort_unstable();
    let rows: Vec<&str> =
        page.lines().filter(|line| line.starts_with("| ") && line.contains("](../../")).collect();
    assert_eq!(drawn.len(), rows.len(), "{drawn:?}");
    for ((number, file), row) in drawn.into_iter().zip(rows) {
        assert!(row.starts_with(&format!("| {number} ")), "step {number}: {row}");
        let target = links(row)[0].1;
        assert!(target.ends_with(file.rsplit('/').next().expect("a name")), "{file}: {row}");
    }
}
