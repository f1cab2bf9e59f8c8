//! Descriptions of registered topologies.
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
    /// A rate: `"10 Gbit/s"`.
    Rate,
    /// An integer: `9`.
    Number,
    /// A duration: `"5 us"`.
    Duration,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// A list of hosts.
    Hosts,
    /// A list of switches.
    Switches,
    /// A list of links: two node names, a rate, a delay.
    Links,
    /// The links of one layer of a tree: rate, delay, and the port of each switch on them.
    Layer,
    /// A port: its buffer and its marker.
    Port,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology;

    #[test]
    fn entries_are_complete_and_found_by_name() {
        for (registry, find) in
            [(topology::REGISTRY, topology::find as fn(&str) -> Option<&'static RegistryEntry>)]
        {
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
