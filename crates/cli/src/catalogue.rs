//! All named items, read from the registries.

use lowtide_net::topology::TopologyEntry;
use lowtide_papers::ExperimentClaims;
use lowtide_record::{ColumnDescription, TableDescription, dictionary};
use lowtide_scenario::{TableDescription as ScenarioTable, nearest, table_descriptions};
use lowtide_schema::{DefaultValue, DistributionOf, Param, ValueKind};
use lowtide_tcp::{ack, cc, feedback, profile, scheme, switches};
use lowtide_traffic::{Cdf, workload};
use lowtide_units::{Bytes, Duration};
use serde::Serialize;

use crate::args::ListKind;

/// A named item.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CatalogueItem {
    /// Kind (`cc`, `scheme` ...).
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) summary: String,
    /// Specification; empty if there is none.
    pub(crate) spec: String,
    /// Its other declared properties, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
    /// Its parameters or keys, or the switches that it sets.
    pub(crate) settings: Vec<CatalogueSetting>,
    /// The columns of a table.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) columns: Vec<ColumnDescription>,
}

/// A parameter or switch of an item.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CatalogueSetting {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) accepts: String,
    pub(crate) doc: String,
    pub(crate) source: String,
}

fn param(p: &Param) -> CatalogueSetting {
    CatalogueSetting {
        name: p.name.into(),
        value: default_text(p.default).into(),
        accepts: p.kind.describe(),
        doc: p.doc.into(),
        source: p.source.into(),
    }
}

/// The default of a parameter, or the effect of leaving it unset.
fn default_text(default: DefaultValue) -> &'static str {
    match default {
        DefaultValue::Required => "required",
        DefaultValue::Is(text) | DefaultValue::Unset(text) => text,
    }
}

fn registered(
    kind: &'static str,
    name: &str,
    summary: &str,
    spec: &str,
    params: &[Param],
) -> CatalogueItem {
    CatalogueItem {
        kind,
        name: name.into(),
        summary: summary.into(),
        spec: spec.into(),
        notes: Vec::new(),
        settings: params.iter().map(param).collect(),
        columns: Vec::new(),
    }
}

fn table(table: TableDescription) -> CatalogueItem {
    CatalogueItem {
        columns: table.columns,
        ..registered("table", table.name, table.description, "", &[])
    }
}

fn topology(entry: &TopologyEntry) -> CatalogueItem {
    let mut settings: Vec<CatalogueSetting> = entry.all_params().map(param).collect();
    if !entry.sides().is_empty() {
        let names: Vec<&str> = entry.sides().iter().map(|side| side.name).collect();
        let docs = entry.sides().iter().map(|side| format!("`{}`: {}", side.name, side.doc));
        settings.push(CatalogueSetting {
            name: "side".into(),
            value: "required".into(),
            accepts: format!("one of {}", names.join(", ")),
            doc: format!("Of a host group. {}", docs.collect::<Vec<_>>().join(" ")),
            source: entry.spec.into(),
        });
    }
    if entry.explicit_links {
        settings.push(CatalogueSetting {
            name: "switches".into(),
            value: "required".into(),
            accepts: "a list of names, and a table [[topology.links]] per link; or `file`".into(),
            doc: "The switches and the links.".into(),
            source: entry.spec.into(),
        });
    }
    CatalogueItem { settings, ..registered("topology", entry.name, entry.summary, entry.spec, &[]) }
}

fn assignments(list: &[profile::Assignment]) -> Vec<CatalogueSetting> {
    let setting = |a: &profile::Assignment| CatalogueSetting {
        name: a.switch.into(),
        value: a.value.into(),
        accepts: String::new(),
        doc: String::new(),
        source: a.source.into(),
    };
    list.iter().map(setting).collect()
}

fn all_switches() -> Vec<CatalogueItem> {
    let default = lowtide_tcp::Config::default();
    let items = switches::all().into_iter().map(|s| {
        let value = CatalogueSetting {
            name: s.name(),
            value: s.text(&default),
            accepts: s.kind().describe(),
            doc: s.doc().into(),
            source: s.source().into(),
        };
        let refused = match s.kind() {
            ValueKind::Name { refused, .. } => refused,
            _ => &[],
        };
        CatalogueItem {
            notes: refused.iter().map(|(value, why)| format!("refuses `{value}`: {why}")).collect(),
            settings: vec![value],
            ..registered("switch", &s.name(), s.doc(), s.source(), &[])
        }
    });
    items.collect()
}

/// The declared properties of a congestion control.
fn declared(entry: &cc::CcEntry) -> Vec<String> {
    let properties = &entry.declared;
    let signals = properties.reacts_to.iter().map(|signal| match signal {
        cc::Signal::Loss => "loss",
        cc::Signal::Ecn if properties.proportional => "the share of ECN marks",
        cc::Signal::Ecn => "ECN marks",
        cc::Signal::Delay => "delay",
    });
    let signals: Vec<&str> = signals.collect();
    let mut notes: Vec<String> = entry.equations.iter().map(|e| (*e).to_owned()).collect();
    notes.extend([
        format!(
            "reacts to: {}",
            if signals.is_empty() { "no signal".into() } else { signals.join(", ") }
        ),
        format!("least window after a reaction, in segments: {}", properties.floor_segments),
    ]);
    if entry.requires.ecn {
        notes.push("needs ECN".into());
    }
    if properties.rate_based {
        notes.push("sends at its own pacing rate; `pacing` must not be `off`".into());
    }
    let exempt = properties.exemptions.iter();
    notes.extend(exempt.map(|x| format!("breaks `{}` on purpose: {}", x.rule, x.source)));
    notes
}

/// Name of the head of a scenario file among its tables.
const HEAD: &str = "scenario";

fn scenario_table(table: &ScenarioTable) -> CatalogueItem {
    let name = if table.path.is_empty() { HEAD } else { &table.path };
    let setting = |key: &lowtide_scenario::KeyDescription| CatalogueSetting {
        name: key.name.into(),
        value: key.default.into(),
        accepts: key.accepts.clone(),
        doc: key.doc.into(),
        source: String::new(),
    };
    let further = Some(table.further.to_owned()).filter(|text| !text.is_empty());
    CatalogueItem {
        notes: further.into_iter().collect(),
        settings: table.keys.iter().map(setting).collect(),
        ..registered("scenario table", name, table.doc, "", &[])
    }
}

/// The tables of a scenario file with this path, `traffic.short`; else the items that have the key,
/// `traffic.short.size`, each with this key only.
pub(crate) fn of_scenario(path: &str) -> Vec<CatalogueItem> {
    let tables = table_descriptions();
    if let Some(table) = tables.iter().find(|table| fits(&table.path, path)) {
        return vec![scenario_table(table)];
    }
    for side in [".sender.", ".receiver.", ".connection."] {
        if let Some((_, switch)) = path.split_once(side) {
            return items(ListKind::Switches).into_iter().filter(|i| i.name == switch).collect();
        }
    }
    let Some((parent, key)) = path.rsplit_once('.') else { return Vec::new() };
    let Some(table) = tables.iter().find(|table| fits(&table.path, parent)) else {
        return Vec::new();
    };
    let kinds = [ListKind::Markers, ListKind::Topologies, ListKind::Workloads].map(items).concat();
    let kinds = kinds.into_iter().filter(|item| table.kinds.contains(&item.name.as_str()));
    let mut found: Vec<CatalogueItem> =
        std::iter::once(scenario_table(table)).chain(kinds).collect();
    for item in &mut found {
        item.notes.clear();
        item.settings.retain(|setting| setting.name == key);
    }
    found.retain(|item| !item.settings.is_empty());
    found
}

/// Whether `path` is that of a table, in which `NAME` is any name.
fn fits(table: &str, path: &str) -> bool {
    let (names, parts) = (table.split('.'), path.split('.'));
    names.clone().count() == parts.clone().count()
        && names.zip(parts).all(|(name, part)| name == "NAME" || name == part)
}

fn distribution(name: &str) -> CatalogueItem {
    let mean = Cdf::named(name).map(|cdf| match cdf.kind() {
        DistributionOf::Size => format!("mean {}", Bytes::new(cdf.mean())),
        DistributionOf::Time => format!("mean {}", Duration::from_ps(cdf.mean())),
    });
    let source = Cdf::source(name).unwrap_or_default();
    registered("distribution", name, &mean.unwrap_or_default(), source, &[])
}

fn switch_profile(p: &lowtide_net::profiles::SwitchProfile) -> CatalogueItem {
    let of = |name: &str, value: String| CatalogueSetting {
        name: name.into(),
        value,
        accepts: String::new(),
        doc: String::new(),
        source: String::new(),
    };
    let mut settings = vec![
        of("memory", p.memory.to_string()),
        of("alpha", format!("{}/{}", p.alpha.num, p.alpha.den)),
        of("reserved", p.reserved.to_string()),
        of("ecn", p.ecn.to_string()),
    ];
    settings.extend(p.ports_per_memory.map(|n| of("ports-per-memory", n.to_string())));
    CatalogueItem { settings, ..registered("switch profile", p.name, p.summary, p.source, &[]) }
}

/// All items of one kind, by name.
pub(crate) fn items(kind: ListKind) -> Vec<CatalogueItem> {
    match kind {
        ListKind::Scenarios => lowtide_scenario::embedded_scenarios()
            .iter()
            .map(|s| registered("scenario", s.name, &s.title(), "", &[]))
            .collect(),
        ListKind::Experiments => lowtide_papers::experiments()
            .iter()
            .map(|r| {
                let expected = ExperimentClaims::parse(r.expected, &r.id());
                let (title, paper) = expected
                    .map_or_else(|_| (String::new(), String::new()), |e| (e.title, e.paper));
                registered("experiment", &r.id(), &title, &paper, &[])
            })
            .collect(),
        ListKind::Schemes => scheme::REGISTRY
            .all()
            .map(|s| CatalogueItem {
                settings: assignments(s.settings),
                ..registered("scheme", s.name, s.summary, "", &[])
            })
            .collect(),
        ListKind::Profiles => profile::REGISTRY
            .all()
            .map(|p| CatalogueItem {
                settings: assignments(p.settings),
                ..registered("profile", p.name, p.summary, "", &[])
            })
            .collect(),
        ListKind::Cc => cc::REGISTRY
            .all()
            .map(|e| CatalogueItem {
                notes: declared(e),
                ..registered("cc", e.name, e.summary, e.spec, e.params)
            })
            .collect(),
        ListKind::Ack => ack::REGISTRY
            .all()
            .map(|e| registered("ack", e.name, e.summary, e.spec, e.params))
            .collect(),
        ListKind::Feedback => feedback::REGISTRY
            .all()
            .map(|e| CatalogueItem {
                notes: e.ack_policies.iter().map(|p| format!("decodes the echo of: {p}")).collect(),
                ..registered("feedback", e.name, e.summary, e.spec, e.params)
            })
            .collect(),
        ListKind::Markers => lowtide_net::aqm::REGISTRY
            .all()
            .map(|e| registered("marker", e.name, e.summary, e.spec, e.params))
            .collect(),
        ListKind::Topologies => lowtide_net::topology::REGISTRY.all().map(topology).collect(),
        ListKind::Workloads => workload::REGISTRY
            .all()
            .map(|e| registered("workload", e.name, e.summary, e.spec, e.params))
            .collect(),
        ListKind::Distributions => [DistributionOf::Size, DistributionOf::Time]
            .into_iter()
            .flat_map(Cdf::names)
            .map(distribution)
            .collect(),
        ListKind::SwitchProfiles => {
            lowtide_net::profiles::REGISTRY.all().map(switch_profile).collect()
        }
        ListKind::HostProfiles => lowtide_host::profile::REGISTRY
            .all()
            .map(|p| {
                let mut settings = assignments(p.transport);
                settings.extend(assignments(p.sources));
                CatalogueItem { settings, ..registered("host profile", p.name, p.summary, "", &[]) }
            })
            .collect(),
        ListKind::Switches => all_switches(),
        ListKind::Benchmarks => lowtide_lab::bench::all()
            .iter()
            .map(|b| registered("benchmark", &b.name, &b.summary, "", &[]))
            .collect(),
        ListKind::Tables => dictionary().into_iter().map(table).collect(),
        ListKind::Keys => table_descriptions().iter().map(scenario_table).collect(),
    }
}

/// All kinds, in the order of `list`.
pub(crate) const KINDS: [ListKind; 17] = [
    ListKind::Scenarios,
    ListKind::Experiments,
    ListKind::Schemes,
    ListKind::Profiles,
    ListKind::Cc,
    ListKind::Ack,
    ListKind::Feedback,
    ListKind::Markers,
    ListKind::Topologies,
    ListKind::Workloads,
    ListKind::Distributions,
    ListKind::SwitchProfiles,
    ListKind::HostProfiles,
    ListKind::Switches,
    ListKind::Benchmarks,
    ListKind::Tables,
    ListKind::Keys,
];

/// All items of that name; several kinds may share a name (`dctcp`).
pub(crate) fn find(name: &str) -> Vec<CatalogueItem> {
    KINDS.iter().flat_map(|k| items(*k)).filter(|i| i.name == name).collect()
}

/// Splits `flows.fct_ps` into the table and the name of a column, which need not exist; `None` if
/// there is no such table.
pub(crate) fn split_column(name: &str) -> Option<(CatalogueItem, &str)> {
    let (table, column) = name.split_once('.')?;
    let found = items(ListKind::Tables).into_iter().find(|item| item.name == table)?;
    Some((found, column))
}

/// Returns at most three known names similar to an unknown one, the nearest first.
pub(crate) fn nearest_names(name: &str, among: &[String]) -> Vec<String> {
    let mut left: Vec<&str> = among.iter().map(String::as_str).collect();
    let mut near = Vec::new();
    while near.len() < 3
        && let Some(found) = nearest(name, left.iter().copied())
    {
        left.retain(|n| *n != found);
        near.push(found.to_owned());
    }
    near
}
