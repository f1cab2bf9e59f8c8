//! Descriptions of registered files: markers and admission rules.
//!
//! The scenario reader, the command line and the documentation read them; nothing here runs.

/// One registered file.
#[derive(Clone, Copy, Debug)]
pub struct RegistryEntry {
    /// Name in kebab case, as people write it.
    pub name: &'static str,
    /// A one-line summary.
    pub summary: &'static str,
    /// Its specification.
    pub spec: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
}

/// One parameter.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Name in kebab case.
    pub name: &'static str,
    /// Its notation.
    pub kind: ParamFormat,
    /// The default in user notation; `None` if it is required.
    pub default: Option<&'static str>,
    /// One sentence.
    pub doc: &'static str,
}

/// The notation of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamFormat {
    /// A queue length: `"20 pkt"` or `"30 kB"`.
    Length,
    /// An integer: `9`.
    Number,
    /// A ratio: `"1/4"`, `"2"`.
    Ratio,
    /// An amount of data: `"4 MB"`.
    Size,
    /// A duration: `"5 us"`.
    Duration,
    /// A fraction: `"95 %"`.
    Share,
    /// One of these names.
    Choice(&'static [&'static str]),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{aqm, buffer};

    #[test]
    fn entries_are_complete_and_found_by_name() {
        for (registry, find) in [
            (aqm::REGISTRY, aqm::find as fn(&str) -> Option<&'static RegistryEntry>),
            (buffer::REGISTRY, buffer::find),
        ] {
            assert!(registry.len() >= 2);
            for entry in registry {
                assert!(find(entry.name).is_some_and(|found| std::ptr::eq(found, *entry)));
                assert!(!entry.summary.is_empty() && !entry.spec.is_empty(), "{}", entry.name);
                for param in entry.params {
                    assert!(param.doc.ends_with('.'), "{}.{}", entry.name, param.name);
                    if let (ParamFormat::Choice(names), Some(default)) = (param.kind, param.default)
                    {
                        assert!(names.contains(&default), "{}.{}", entry.name, param.name);
                    }
                }
            }
            assert!(find("no-such-name").is_none());
        }
    }
}
