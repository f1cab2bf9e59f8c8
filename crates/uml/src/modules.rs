//! Modules to load, and their order.

use std::collections::{BTreeMap, BTreeSet};

/// Modules of a testbed: devices, queueing disciplines that mark and delay, and all congestion
/// controls.
pub const NETWORK_MODULES: [&str; 24] = [
    "ipv6",
    "tun",
    "veth",
    "sch_red",
    "sch_netem",
    "sch_tbf",
    "sch_fq",
    "sch_fq_codel",
    "sch_codel",
    "sch_pie",
    "tcp_dctcp",
    "tcp_bbr",
    "tcp_bic",
    "tcp_cdg",
    "tcp_highspeed",
    "tcp_htcp",
    "tcp_hybla",
    "tcp_illinois",
    "tcp_nv",
    "tcp_scalable",
    "tcp_vegas",
    "tcp_veno",
    "tcp_westwood",
    "tcp_yeah",
];

/// A kernel's modules, from its `modules.dep`: dependencies by file name.
#[derive(Debug)]
pub(crate) struct ModuleDeps<'a> {
    files: BTreeMap<&'a str, (&'a str, Vec<&'a str>)>,
}

/// Name of a module file; the kernel does not distinguish `-` and `_`.
fn name(file: &str) -> &str {
    let last = file.rsplit('/').next().unwrap_or(file);
    last.split('.').next().unwrap_or(last)
}

impl<'a> ModuleDeps<'a> {
    /// Parses lines of `file: dependency dependency ...`.
    pub(crate) fn parse(text: &'a str) -> Self {
        let line = |line: &'a str| {
            let (file, needs) = line.split_once(':')?;
            Some((name(file), (file, needs.split_whitespace().collect())))
        };
        Self { files: text.lines().filter_map(line).collect() }
    }

    /// Files of `wanted` with their dependencies, each after its own; and the unknown names.
    pub(crate) fn order(&self, wanted: &[String]) -> (Vec<&'a str>, Vec<String>) {
        let (mut order, mut seen, mut missing) = (Vec::new(), BTreeSet::new(), Vec::new());
        for name in wanted {
            match self.files.get(name.as_str()) {
                Some((file, _)) => self.add(file, &mut order, &mut seen),
                None => missing.push(name.clone()),
            }
        }
        (order, missing)
    }

    fn add(&self, file: &'a str, order: &mut Vec<&'a str>, seen: &mut BTreeSet<&'a str>) {
        if !seen.insert(file) {
            return;
        }
        for needed in self.files.get(name(file)).into_iter().flat_map(|(_, needs)| needs) {
            self.add(needed, order, seen);
        }
        order.push(file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_load_first() {
        let text = "k/net/ipv6.ko: k/lib/crc.ko\nk/lib/crc.ko:\nk/udp_diag.ko: k/net/ipv6.ko k/lib/crc.ko\nk/tun.ko:\n";
        let all = ModuleDeps::parse(text);
        let order = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
            all.order(&names)
        };
        assert_eq!(
            order(&["udp_diag", "tun", "ipv6"]).0,
            ["k/lib/crc.ko", "k/net/ipv6.ko", "k/udp_diag.ko", "k/tun.ko"]
        );
        assert_eq!(order(&["none", "tun"]), (vec!["k/tun.ko"], vec!["none".to_owned()]));
        // A cycle, which no kernel has, terminates.
        let circle = ModuleDeps::parse("a.ko: b.ko\nb.ko: a.ko\n");
        assert_eq!(circle.order(&["a".to_owned()]).0, ["b.ko", "a.ko"]);
    }
}
