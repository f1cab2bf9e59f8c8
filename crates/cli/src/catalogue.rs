//! All named items, read from the registries.

use lowtide_net::topology::TopologyEntry;
use lowtide_papers::ExperimentClaims;
use lowtide_record::{ColumnDescription, TableDescription, dictionary};
use lowtide_scenario::nearest;
use lowtide_schema::{DefaultValue, DistributionOf, Param};
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
    /// Its parameters, or the switches that it sets.
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
        CatalogueItem {
            kind: "switch",
            name: s.name(),
            summary: s.doc().into(),
            spec: s.source().into(),
            settings: vec![value],
            columns: Vec::new(),
        }
    });
    items.collect()
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
            .map(|e| registered("cc", e.name, e.summary, e.spec, e.params))
            .collect(),
        ListKind::Ack => ack::REGISTRY
            .all()
            .map(|e| registered("ack", e.name, e.summary, e.spec, e.params))
            .collect(),
        ListKind::Feedback => feedback::REGISTRY
            .all()
            .map(|e| registered("feedback", e.name, e.summary, e.spec, e.params))
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
    }
}

/// All kinds, in the order of `list`.
pub(crate) const KINDS: [ListKind; 16] = [
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
