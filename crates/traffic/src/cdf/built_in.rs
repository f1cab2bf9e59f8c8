//! Built-in distributions: data files with their source at the head.

use lowtide_schema::DistributionOf;

use super::Cdf;

struct BuiltIn {
    name: &'static str,
    kind: DistributionOf,
    text: &'static str,
}

macro_rules! built_in {
    ($name:literal, $kind:ident) => {
        BuiltIn {
            name: $name,
            kind: DistributionOf::$kind,
            text: include_str!(concat!("../../data/", $name, ".txt")),
        }
    };
}

/// Sorted by name.
static ALL: &[BuiltIn] = &[
    built_in!("data-mining", Size),
    built_in!("dctcp-background-gaps", Time),
    built_in!("dctcp-background-sizes", Size),
    built_in!("dctcp-query-gaps", Time),
    built_in!("web-search-1.6mb", Size),
    built_in!("web-search-654kb", Size),
];

pub(super) fn find(name: &str) -> Option<Cdf> {
    let found = ALL.iter().find(|b| b.name == name)?;
    // A test parses all of them, so only an unknown name can fail.
    Cdf::parse(found.name, found.kind, found.text).ok()
}

pub(super) fn names(kind: DistributionOf) -> Vec<&'static str> {
    ALL.iter().filter(|b| b.kind == kind).map(|b| b.name).collect()
}

pub(super) fn source(name: &str) -> Option<&'static str> {
    let text = ALL.iter().find(|b| b.name == name)?.text;
    let end = text.find("\n#\n").unwrap_or(text.len());
    text.get(..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_distribution_parses_and_names_its_source() {
        for one in ALL {
            let cdf = Cdf::parse(one.name, one.kind, one.text).unwrap();
            assert_eq!((cdf.name(), cdf.kind()), (one.name, one.kind));
            assert!(source(one.name).unwrap().starts_with("# "), "{}", one.name);
        }
        assert_eq!(
            names(DistributionOf::Size).len() + names(DistributionOf::Time).len(),
            ALL.len()
        );
        assert!(find("web-search").is_none());
    }
}
