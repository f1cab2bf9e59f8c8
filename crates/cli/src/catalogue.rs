//! All named items, read from the registries.

use lowtide_net::registry::RegistryEntry as NetEntry;
use lowtide_papers::ExperimentClaims;
use lowtide_scenario::nearest;
use lowtide_schema::{DefaultValue, DistributionOf};
use lowtide_tcp::{Param, ack, cc, feedback, profile, scheme, switches};
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
        value: p.default.into(),
        accepts: p.kind.describe(),
        doc: p.doc.into(),
        source: p.source.into(),
    }
}

/// A parameter that its part declares.
fn declared(p: &lowtide_schema::Param) -> CatalogueSetting {
    let value = match p.default {
        DefaultValue::Required => "required",
        DefaultValue::Is(text) | DefaultValue::Unset(text) => text,
    };
    CatalogueSetting {
        name: p.name.into(),
        value: value.into(),
        accepts: p.kind.describe(),
        doc: p.doc.into(),
        source: p.source.into(),
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
    }
}

fn of_network(kind: &'static str, entry: &NetEntry) -> CatalogueItem {
    let setting = |p: &lowtide_net::registry::Param| CatalogueSetting {
        name: p.name.into(),
        value: p.default.unwrap_or("required").into(),
        accepts: format!("{:?}", p.kind).to_lowercase(),
        doc: p.doc.into(),
        source: String::new(),
    };
    CatalogueItem {
        kind,
        name: entry.name.into(),
        summary: entry.summary.into(),
        spec: entry.spec.into(),
        settings: entry.params.iter().map(setting).collect(),
    }
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
            value: s.get(&default).to_string(),
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
        ListKind::Schemes => scheme::SCHEMES
            .iter()
            .map(|s| CatalogueItem {
                settings: assignments(s.settings),
                ..registered("scheme", s.name, s.summary, "", &[])
            })
            .collect(),
        ListKind::Profiles => profile::PROFILES
            .iter()
            .map(|p| CatalogueItem {
                settings: assignments(p.settings),
                ..registered("profile", p.name, p.summary, "", &[])
            })
            .collect(),
        ListKind::Cc => {
            cc::all().map(|e| registered("cc", e.name, e.summary, e.spec, e.params)).collect()
        }
        ListKind::Ack => {
            ack::all().map(|e| registered("ack", e.name, e.summary, e.spec, e.params)).collect()
        }
        ListKind::Feedback => feedback::all()
            .map(|e| registered("feedback", e.name, e.summary, e.spec, e.params))
            .collect(),
        ListKind::Markers => {
            lowtide_net::aqm::REGISTRY.iter().map(|e| of_network("marker", e)).collect()
        }
        ListKind::Topologies => {
            lowtide_net::topology::REGISTRY.iter().map(|e| of_network("topology", e)).collect()
        }
        ListKind::Workloads => workload::REGISTRY
            .all()
            .map(|e| CatalogueItem {
                settings: e.params.iter().map(declared).collect(),
                ..registered("workload", e.name, e.summary, e.spec, &[])
            })
            .collect(),
        ListKind::Distributions => [DistributionOf::Size, DistributionOf::Time]
            .into_iter()
            .flat_map(Cdf::names)
            .map(distribution)
            .collect(),
        ListKind::SwitchProfiles => {
            lowtide_net::profiles::PROFILES.iter().map(switch_profile).collect()
        }
        ListKind::HostProfiles => lowtide_host::HOST_PROFILES
            .iter()
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
    }
}

/// All kinds, in the order of `list`.
pub(crate) const KINDS: [ListKind; 15] = [
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
];

/// All items of that name; several kinds may share a name (`dctcp`).
pub(crate) fn find(name: &str) -> Vec<CatalogueItem> {
    KINDS.iter().flat_map(|k| items(*k)).filter(|i| i.name == name).collect()
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
