//! The distributions that come with the program: data files with their source at the head.

use super::{Cdf, CdfKind};

struct BuiltIn {
    name: &'static str,
    measure: CdfKind,
    text: &'static str,
}

macro_rules! built_in {
    ($name:literal, $measure:ident) => {
        BuiltIn {
            name: $name,
            measure: CdfKind::$measure,
            text: include_str!(concat!("../../data/", $name, ".txt")),
        }
    };
}

/// By name.
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
    // That each of them can be read is tested; a name that is not there is all that can go wrong.
    Cdf::parse(found.name, found.measure, found.text).ok()
}

pub(super) fn names(measure: CdfKind) -> Vec<&'static str> {
    ALL.iter().filter(|b| b.measure == measure).map(|b| b.name).collect()
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
    fn every_one_can_be_read_and_says_where_it_is_from() {
        for one in ALL {
            let cdf = Cdf::parse(one.name, one.measure, one.text).unwrap();
            assert_eq!((cdf.name(), cdf.kind()), (one.name, one.measure));
            assert!(source(one.name).unwrap().starts_with("# "), "{}", one.name);
        }
        assert_eq!(names(CdfKind::Size).len() + names(CdfKind::Time).len(), ALL.len());
        assert!(find("web-search").is_none());
    }
}
