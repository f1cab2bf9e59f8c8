//! Verdicts at the inferred setting of a paper: `papers/<paper>/inferred-full.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, Value};

use super::{Claim, Summary, id, number, read, replace};

const HEAD: &str = "\
# Full forms at the inferred setting (`lowtide papers reproduce --inferred`), written by
# `cargo xtask record`. `setting` has the values of inferred.toml.
";

/// Writes the claims into the file of each paper; claims of the same setting that are not in the
/// output stay.
pub(super) fn write(papers: &Path, claims: &[Claim]) -> Result<Summary, String> {
    let mut by_paper: BTreeMap<&str, Vec<&Claim>> = BTreeMap::new();
    for claim in claims {
        let paper = claim.id.split_once('-').map(|(paper, _)| paper);
        let paper = paper.ok_or_else(|| format!("`{}` is not a claim", claim.id))?;
        by_paper.entry(paper).or_default().push(claim);
    }
    let mut made = Vec::new();
    for (paper, claims) in by_paper {
        let inferred = papers.join(paper).join("inferred.toml");
        let setting =
            setting(&read(&inferred)?).map_err(|e| format!("{}: {e}", inferred.display()))?;
        let path = papers.join(paper).join("inferred-full.toml");
        let known = if path.exists() { read(&path)? } else { String::new() };
        let text =
            text(&known, &setting, &claims).map_err(|e| format!("{}: {e}", path.display()))?;
        made.push((path, text));
    }
    for (path, text) in made {
        replace(&path, &text)?;
    }
    Ok(Summary { written: claims.len(), ..Summary::default() })
}

/// The values of `inferred.toml`.
fn setting(text: &str) -> Result<Vec<String>, String> {
    let document: DocumentMut = text.parse().map_err(|e| format!("{e}"))?;
    let parameters = document.get("parameter").and_then(Item::as_array_of_tables);
    let parameters = parameters.ok_or("it has no `[[parameter]]`")?;
    let value = |t: &Table| t.get("inferred").and_then(Item::as_str).map(str::to_owned);
    parameters.iter().map(value).collect::<Option<_>>().ok_or("a value is missing".to_owned())
}

fn text(known: &str, setting: &[String], claims: &[&Claim]) -> Result<String, String> {
    let known: DocumentMut = known.parse().map_err(|e| format!("{e}"))?;
    let array: Array = setting.iter().map(String::as_str).collect();
    let same = known.get("setting").and_then(Item::as_array).is_some_and(|of| {
        of.iter().map(Value::as_str).eq(setting.iter().map(|value| Some(value.as_str())))
    });
    let kept = known.get("claim").and_then(Item::as_array_of_tables).filter(|_| same);
    let kept = kept.into_iter().flat_map(ArrayOfTables::iter);
    let mut all: BTreeMap<String, Table> = kept.map(|t| (id(t).to_owned(), t.clone())).collect();
    for claim in claims {
        let mut table = Table::new();
        table.insert("id", claim.id.as_str().into());
        table.insert("verdict", claim.verdict.as_str().into());
        if let Some(measured) = claim.measured {
            table.insert("measured", Item::Value(number(measured)));
        }
        if let Some(ends) = claim.ci95 {
            let ends: Array = ends.into_iter().map(number).collect();
            table.insert("ci95", Item::Value(Value::Array(ends)));
        }
        all.insert(claim.id.clone(), table);
    }
    let mut document = DocumentMut::new();
    document.insert("setting", Item::Value(Value::Array(array)));
    let mut tables = ArrayOfTables::new();
    for (position, (_, mut table)) in all.into_iter().enumerate() {
        table.set_position(Some(position as isize + 1));
        tables.push(table);
    }
    document.insert("claim", Item::ArrayOfTables(tables));
    Ok(format!("{HEAD}{document}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(id: &str, measured: f64) -> Claim {
        let (id, verdict) = (id.to_owned(), "reproduced".to_owned());
        Claim { id, verdict, measured: Some(measured), ci95: None, seeds: 5, level: 0.95 }
    }

    #[test]
    fn claims_of_the_same_setting_stay() {
        let dir = tempfile::tempdir().unwrap();
        let paper = dir.path().join("td");
        std::fs::create_dir(&paper).unwrap();
        let inferred = |gain: &str| {
            let text = format!("[[parameter]]\nname = \"gain\"\ninferred = \"{gain}\"\n");
            std::fs::write(paper.join("inferred.toml"), text).unwrap();
        };
        let file = || read(&paper.join("inferred-full.toml")).unwrap();
        inferred("4");
        write(dir.path(), &[claim("td-fig7/b", 2.0)]).unwrap();
        let first = "setting = [\"4\"]\n\n[[claim]]\nid = \"td-fig7/b\"\nverdict = \"reproduced\"\n\
                     measured = 2\n";
        assert_eq!(file(), format!("{HEAD}{first}"));
        write(dir.path(), &[claim("td-fig7/a", 1.5)]).unwrap();
        assert_eq!(file().matches("[[claim]]").count(), 2);
        assert!(file().find("fig7/a").unwrap() < file().find("fig7/b").unwrap());
        inferred("5");
        write(dir.path(), &[claim("td-fig7/a", 1.5)]).unwrap();
        assert!(!file().contains("fig7/b"), "{}", file());
    }
}
