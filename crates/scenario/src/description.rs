//! The tables of a scenario file and their keys, for `lowtide list` and `lowtide explain`.

use lowtide_schema::DefaultValue;

use crate::keys::KeySpec;
use crate::known_names::KnownNames;
use crate::table_spec::{SWEEP, SWEEP_DOC, TableContents, TableSpec};
use crate::tables::sections;
use crate::value::{KeyType, NameSet};

/// A table of a scenario file.
#[derive(Clone, Debug)]
pub struct TableDescription {
    /// Its path, with `NAME` for a user-defined name: `switch.mark`, `traffic.NAME`. Empty for the
    /// head of the file.
    pub path: String,
    /// Its meaning, in sentences.
    pub doc: &'static str,
    /// Its own keys.
    pub keys: Vec<KeyDescription>,
    /// Its other keys, in a sentence; empty if there are none.
    pub further: &'static str,
    /// Markers, topologies or workloads whose keys it also accepts.
    pub kinds: Vec<&'static str>,
}

/// A key of a table.
#[derive(Clone, Debug)]
pub struct KeyDescription {
    /// Its name.
    pub name: &'static str,
    /// Accepted values, with an example.
    pub accepts: String,
    /// Its default, or the effect of leaving it unset.
    pub default: &'static str,
    /// Its meaning, one sentence.
    pub doc: &'static str,
}

/// Returns every table, each before its subtables.
pub fn table_descriptions() -> Vec<TableDescription> {
    let known = KnownNames::default();
    let mut tables: Vec<_> = sections().into_iter().map(|table| described(table, &known)).collect();
    tables.push(TableDescription {
        path: SWEEP.to_owned(),
        doc: SWEEP_DOC,
        keys: Vec::new(),
        further: "",
        kinds: Vec::new(),
    });
    tables
}

fn described(table: &TableSpec, known: &KnownNames) -> TableDescription {
    let further = match table.contents {
        TableContents::Switches => {
            "Tables `sender`, `receiver` and `connection`: switches of the transport, each in the \
             table of its side (`lowtide list switches`)."
        }
        TableContents::Workloads => "The keys of a workload: `lowtide explain poisson`.",
        TableContents::Topologies => "The keys of a topology: `lowtide explain leaf-spine`.",
        TableContents::Markers => "The keys of a marker: `lowtide explain red`.",
        TableContents::KeysOnly
        | TableContents::Texts
        | TableContents::Paths
        | TableContents::List => "",
    };
    TableDescription {
        path: table.path.join(".").replace('*', "NAME"),
        doc: table.doc,
        keys: table.keys.iter().map(|key| described_key(key, known)).collect(),
        further,
        kinds: table.kinds().into_iter().map(|(name, _, _)| name).collect(),
    }
}

fn described_key(key: &KeySpec, known: &KnownNames) -> KeyDescription {
    let default = match key.default {
        DefaultValue::Required => "required",
        DefaultValue::Is(text) | DefaultValue::Unset(text) => text,
    };
    KeyDescription { name: key.name, accepts: accepts(key.ty, known), default, doc: key.doc }
}

/// Describes the values of a key; names registered elsewhere are not repeated here.
fn accepts(ty: KeyType, known: &KnownNames) -> String {
    match ty {
        KeyType::Name(NameSet::Profiles) => "a profile (`lowtide list profiles`)".to_owned(),
        KeyType::Name(NameSet::Schemes) => {
            "a scheme (`lowtide list schemes`) or a bundle".to_owned()
        }
        KeyType::Name(NameSet::BaseSchemes) => "a scheme (`lowtide list schemes`)".to_owned(),
        KeyType::Name(NameSet::Classes) => "a class of `[switch.class]`".to_owned(),
        KeyType::Name(NameSet::Workloads) => "a workload (`lowtide list workloads`)".to_owned(),
        KeyType::NameList(NameSet::Schemes) => "a list of schemes and bundles".to_owned(),
        KeyType::NameList(NameSet::Traffic) => "a list of traffic groups".to_owned(),
        ty => ty.describe(&|names| known.list(names)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_own_key_is_described_in_a_sentence() {
        let tables = table_descriptions();
        assert_eq!(tables.len(), sections().len() + 1);
        for key in tables.iter().flat_map(|table| &table.keys) {
            assert!(!key.accepts.is_empty() && !key.default.is_empty(), "{}", key.name);
            assert!(key.doc.ends_with(['.', ')']), "{}: {}", key.name, key.doc);
        }
    }

    #[test]
    fn a_table_of_kinds_names_them() {
        let tables = table_descriptions();
        let mark = tables.iter().find(|table| table.path == "switch.mark").unwrap();
        assert!(mark.kinds.contains(&"red") && !mark.further.is_empty());
        assert!(mark.keys.iter().any(|key| key.name == "kind"));
    }
}
