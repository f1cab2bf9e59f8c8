//! Whose TCP the hosts have.

use lowtide_scenario::matches;

use crate::kernel::ends::Renamed;

/// Whose TCP a host has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whose {
    /// The kernel's.
    Kernels,
    /// Lowtide's.
    Ours,
}

/// Who has which, as it was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// Hosts that are not excepted.
    pub all: Whose,
    /// Hosts that have the other one: names and groups, `*` for any letters.
    pub except: Vec<String>,
    /// Controls that have another name in the kernel: lowtide's, the kernel's.
    pub controls: Vec<Renamed>,
}

impl Choice {
    /// Whose TCP the host of that name (`senders.2`) has.
    pub(crate) fn whose(&self, host: &str) -> Whose {
        let group = host.rsplit_once('.').map_or(host, |(group, _)| group);
        let named = |pattern: &String| matches(pattern, host) || matches(pattern, group);
        match (self.all, self.except.iter().any(named)) {
            (all, false) => all,
            (Whose::Kernels, true) => Whose::Ours,
            (Whose::Ours, true) => Whose::Kernels,
        }
    }

    /// What of `except` names no host of `hosts`.
    pub(crate) fn stray<'a>(&'a self, hosts: &[String]) -> Option<&'a str> {
        let names = |pattern: &str| {
            hosts.iter().any(|host| {
                let group = host.rsplit_once('.').map_or(host.as_str(), |(group, _)| group);
                matches(pattern, host) || matches(pattern, group)
            })
        };
        self.except.iter().map(String::as_str).find(|pattern| !names(pattern))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_named_one_by_one_by_group_or_by_pattern() {
        let of = |except: &[&str]| Choice {
            all: Whose::Ours,
            except: except.iter().map(|s| (*s).to_owned()).collect(),
            controls: Vec::new(),
        };
        assert_eq!(of(&["senders"]).whose("senders.1"), Whose::Kernels);
        assert_eq!(of(&["senders.1"]).whose("senders.2"), Whose::Ours);
        assert_eq!(of(&["*.0", "rec*"]).whose("receivers.3"), Whose::Kernels);
        assert_eq!(of(&["s*s.*"]).whose("senders.10"), Whose::Kernels);
        let hosts = ["senders.0".to_owned(), "receivers.0".to_owned()];
        assert_eq!(of(&["senders", "x*"]).stray(&hosts), Some("x*"));
        assert_eq!(of(&["receivers.0", "*"]).stray(&hosts), None);
    }
}
