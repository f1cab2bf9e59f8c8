//! `lowtide explain`: the meaning of a name, and the differences of two configurations.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use lowtide_output::shell;
use lowtide_record::ColumnDescription;
use lowtide_scenario::nearest;
use lowtide_tcp::switches::{self, Side};
use lowtide_tcp::{Config, NotSimulated, profile, scheme};
use serde::Serialize;

use crate::catalogue::{self, CatalogueItem, CatalogueSetting};
use crate::error::CommandError;
use crate::output::Output;

pub(crate) fn explain(names: &[String], out: Output) -> Result<(), CommandError> {
    let mut items = Vec::new();
    for name in names {
        let mut found = catalogue::find(name);
        if found.is_empty() {
            found = catalogue::of_scenario(name);
        }
        if found.is_empty() && std::path::Path::new(name).is_dir() {
            let help = format!(
                "`lowtide explain {} --flow 0` explains a flow of its runs",
                shell::word(name)
            );
            return Err(CommandError::Usage(format!("`{name}` is a directory"), Some(help)));
        }
        if let Some((table, column)) = catalogue::split_column(name).filter(|_| found.is_empty()) {
            items.push(one_column(table, column)?);
            continue;
        }
        if found.is_empty() {
            let all: Vec<String> = catalogue::KINDS
                .iter()
                .flat_map(|k| catalogue::items(*k))
                .map(|i| i.name)
                .collect();
            return Err(unknown("name", name, &all));
        }
        items.extend(found);
    }
    if out.json {
        return out.answer("lowtide.explain/1", &BTreeMap::from([("items", items)]));
    }
    let mut text = String::new();
    for item in &items {
        let _ = writeln!(text, "{} ({})\n  {}", item.name, item.kind, item.summary);
        if !item.spec.is_empty() {
            let _ = writeln!(text, "  specification: {}", item.spec);
        }
        for note in &item.notes {
            let _ = writeln!(text, "  {note}");
        }
        for (heading, settings) in groups(&item.settings) {
            if let Some(heading) = heading {
                let _ = writeln!(text, "\n {heading}");
            }
            for setting in settings {
                write_setting(&mut text, item, setting);
            }
        }
        for column in &item.columns {
            write_column(&mut text, column);
        }
        let _ = writeln!(text);
    }
    out.text(&text)
}

/// A table with one of its columns.
fn one_column(mut table: CatalogueItem, column: &str) -> Result<CatalogueItem, CommandError> {
    if !table.columns.iter().any(|c| c.name == column) {
        let names: Vec<String> = table.columns.iter().map(|c| c.name.to_owned()).collect();
        return Err(unknown(&format!("column of `{}`", table.name), column, &names));
    }
    table.columns.retain(|c| c.name == column);
    Ok(table)
}

fn write_column(text: &mut String, column: &ColumnDescription) {
    let ColumnDescription { name, kind, unit, nullable, description } = column;
    let null = if *nullable { ", may be null" } else { "" };
    let unit = if unit.is_empty() { String::new() } else { format!(" in {unit}") };
    let _ = writeln!(text, "  {name}  ({kind}{unit}{null})\n      {description}");
}

/// Most settings that are listed without headings.
const MAX_UNGROUPED: usize = 10;

/// Returns the settings of a long list by the end whose behaviour they change, each with a heading;
/// a short list is one group without.
fn groups(settings: &[CatalogueSetting]) -> Vec<(Option<&'static str>, Vec<&CatalogueSetting>)> {
    if settings.len() <= MAX_UNGROUPED {
        return vec![(None, settings.iter().collect())];
    }
    let side = |s: &&CatalogueSetting| switches::find(&s.name).map(|switch| switch.side());
    let group = |heading, wanted: Option<Side>| {
        let of: Vec<_> = settings.iter().filter(|s| side(s) == wanted).collect();
        (Some(heading), of)
    };
    let mut all = vec![
        group("Sender", Some(Side::Sender)),
        group("Receiver", Some(Side::Receiver)),
        group("Both ends", Some(Side::Connection)),
        group("Other keys", None),
    ];
    all.retain(|(_, settings)| !settings.is_empty());
    if all.len() == 1 { vec![(None, settings.iter().collect())] } else { all }
}

fn write_setting(text: &mut String, item: &CatalogueItem, s: &CatalogueSetting) {
    // Writing to a string cannot fail.
    let _ = write!(text, "  {} = {}", s.name, s.value);
    if !s.accepts.is_empty() {
        let _ = write!(text, "  ({})", s.accepts);
    }
    let _ = writeln!(text);
    for line in [&s.doc, &s.source] {
        if !line.is_empty() && *line != item.summary && *line != item.spec {
            let _ = writeln!(text, "      {line}");
        }
    }
}

#[derive(Serialize)]
struct Difference {
    a: String,
    b: String,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    switch: String,
    a: String,
    b: String,
    source_a: Option<String>,
    source_b: Option<String>,
}

/// `linux`, `dctcp`, or `linux+dctcp`: a profile, a scheme over `rfc`, or a scheme over a profile.
struct NamedConfig {
    config: Config,
    parts: Vec<&'static [profile::Assignment]>,
}

impl NamedConfig {
    fn read(text: &str) -> Result<Self, CommandError> {
        // Switches that no part sets have value and source of `rfc`.
        let base = profile::REGISTRY.find("rfc").map(|p| p.settings);
        let mut named = Self { config: Config::default(), parts: base.into_iter().collect() };
        for (i, part) in text.split('+').enumerate() {
            let settings = match (profile::REGISTRY.find(part), scheme::REGISTRY.find(part)) {
                (Some(p), _) if i == 0 => {
                    named.config = p.config().map_err(|e| CommandError::Run(e.to_string()))?;
                    p.settings
                }
                (_, Some(s)) => {
                    s.apply(&mut named.config).map_err(|e| CommandError::Run(e.to_string()))?;
                    s.settings
                }
                _ => {
                    let profiles = profile::REGISTRY.all().map(|p| p.name.to_string());
                    let schemes = scheme::REGISTRY.all().map(|s| s.name.to_string());
                    return Err(unknown(
                        "profile or scheme",
                        part,
                        &profiles.chain(schemes).collect::<Vec<_>>(),
                    ));
                }
            };
            named.parts.push(settings);
        }
        Ok(named)
    }

    fn source(&self, switch: &str) -> Option<String> {
        let all = self.parts.iter().rev().flat_map(|p| p.iter());
        all.into_iter().find(|a| a.switch == switch).map(|a| a.source.to_string())
    }
}

pub(crate) fn diff(names: &[String], out: Output) -> Result<(), CommandError> {
    let [a, b] = names else {
        let help = "for instance `lowtide explain --diff rfc+dctcp linux+dctcp`".to_string();
        return Err(CommandError::Usage(
            format!("--diff takes two names, not {}", names.len()),
            Some(help),
        ));
    };
    let (first, second) = (NamedConfig::read(a)?, NamedConfig::read(b)?);
    let rows: Vec<Row> = profile::diff(&first.config, &second.config)
        .into_iter()
        .map(|row| Row {
            source_a: first.source(&row.switch),
            source_b: second.source(&row.switch),
            switch: row.switch,
            a: row.a,
            b: row.b,
        })
        .collect();
    if out.json {
        let (a, b) = (a.clone(), b.clone());
        return out.answer("lowtide.diff/1", &Difference { a, b, rows });
    }
    let cell = |value: String, source: Option<String>| match source {
        Some(s) => format!("{value}  [{s}]"),
        None => value,
    };
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|r| vec![r.switch, cell(r.a, r.source_a), cell(r.b, r.source_b)])
        .collect();
    out.table(&["switch", a, b], &[], &rows)
}

/// Names that an error lists; more are left to `lowtide list`.
const MAX_NAMES: usize = 32;

pub(crate) fn unknown(kind: &str, name: &str, known: &[String]) -> CommandError {
    if let Some(absent) = NotSimulated::find(name) {
        return CommandError::Usage(absent.sentence.to_owned(), None);
    }
    let help = match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.len() <= MAX_NAMES => format!("it is one of {}", known.join(", ")),
        None => "no similar name; `lowtide list` shows all".to_string(),
    };
    CommandError::Usage(format!("there is no {kind} `{name}`"), Some(help))
}
