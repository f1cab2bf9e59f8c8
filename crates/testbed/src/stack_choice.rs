//! Choice of TCP stack per host.

use lowtide_scenario::glob_matches;

use crate::kernel::tcp_config::CcMapping;

/// A TCP stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackKind {
    /// The kernel's.
    Kernel,
    /// Lowtide's.
    Lowtide,
}

/// TCP stacks by host, as requested.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StackChoice {
    /// Stack of hosts that are not in `exceptions`.
    pub default_stack: StackKind,
    /// Hosts with the other stack: names and groups, `*` for any letters.
    pub exceptions: Vec<String>,
    /// Congestion controls with another name in the kernel: lowtide's, the kernel's.
    pub cc_mapping: Vec<CcMapping>,
}

impl StackChoice {
    /// Stack of a host (`senders.2`).
    pub(crate) fn stack_of(&self, host: &str) -> StackKind {
        let group = host.rsplit_once('.').map_or(host, |(group, _)| group);
        let named = |pattern: &String| glob_matches(pattern, host) || glob_matches(pattern, group);
        match (self.default_stack, self.exceptions.iter().any(named)) {
            (all, false) => all,
            (StackKind::Kernel, true) => StackKind::Lowtide,
            (StackKind::Lowtide, true) => StackKind::Kernel,
        }
    }

    /// First exception that matches no host of `hosts`.
    pub(crate) fn unknown_host<'a>(&'a self, hosts: &[String]) -> Option<&'a str> {
        let names = |pattern: &str| {
            hosts.iter().any(|host| {
                let group = host.rsplit_once('.').map_or(host.as_str(), |(group, _)| group);
                glob_matches(pattern, host) || glob_matches(pattern, group)
            })
        };
        self.exceptions.iter().map(String::as_str).find(|pattern| !names(pattern))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_named_one_by_one_by_group_or_by_pattern() {
        let of = |except: &[&str]| StackChoice {
            default_stack: StackKind::Lowtide,
            exceptions: except.iter().map(|s| (*s).to_owned()).collect(),
            cc_mapping: Vec::new(),
        };
        assert_eq!(of(&["senders"]).stack_of("senders.1"), StackKind::Kernel);
        assert_eq!(of(&["senders.1"]).stack_of("senders.2"), StackKind::Lowtide);
        assert_eq!(of(&["*.0", "rec*"]).stack_of("receivers.3"), StackKind::Kernel);
        assert_eq!(of(&["s*s.*"]).stack_of("senders.10"), StackKind::Kernel);
        let hosts = ["senders.0".to_owned(), "receivers.0".to_owned()];
        assert_eq!(of(&["senders", "x*"]).unknown_host(&hosts), Some("x*"));
        assert_eq!(of(&["receivers.0", "*"]).unknown_host(&hosts), None);
    }
}
