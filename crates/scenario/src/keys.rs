//! Every key of a scenario file: its name, what it accepts, its default and what it means.
//!
//! Contract: this table is the only list of keys. Reading, unknown-key errors, overrides, sweeps, the
//! JSON Schema and `docs/scenario.md` all walk it. The switches of a transport are not listed here
//! but in [`lowtide_tcp::switches`], and the keys of a workload in its own file in `lowtide_traffic`.

use lowtide_traffic::workload::{self, ParamKind};
use lowtide_units::Parts;

use crate::host_keys;
use crate::pipes;
use crate::ports::MARK_KEYS;
use crate::value::{MOST, Names, Ty};

/// What holds where a key is not written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fallback {
    /// It must be written.
    Required,
    /// This value.
    Is(&'static str),
    /// No value; this is what happens then.
    Unset(&'static str),
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) ty: Ty,
    pub(crate) default: Fallback,
    pub(crate) doc: &'static str,
}

/// One table of the file.
#[derive(Debug)]
pub(crate) struct Section {
    /// Where it stands, `*` for a name that people choose; empty for the root.
    pub(crate) path: &'static [&'static str],
    pub(crate) doc: &'static str,
    /// Its keys, without those of a workload.
    pub(crate) keys: &'static [Key],
    /// It holds the tables `sender`, `receiver` and `connection` with switches of the transport.
    pub(crate) switches: bool,
}

pub(crate) const fn key(name: &'static str, ty: Ty, default: Fallback, doc: &'static str) -> Key {
    Key { name, ty, default, doc }
}

/// A share of a whole.
pub(crate) const SHARE: Ty = Ty::Parts { min: Parts::ZERO, max: Parts::ONE };

use Fallback::{Is, Required, Unset};

/// The tables for switches of one side.
pub(crate) const SIDES: [&str; 3] = ["sender", "receiver", "connection"];

/// Every table, in the order in which they are written out.
pub(crate) static SECTIONS: &[Section] = &[
    Section {
        path: &[],
        doc: "The head of the file.",
        keys: &[
            key("schema", Ty::Count { min: 1, max: 1 }, Required, "Version of this format: 1."),
            key("title", Ty::Text, Required, "One line that says what is shown."),
            key("description", Ty::Text, Unset("nothing"), "One more line."),
        ],
        switches: false,
    },
    Section {
        path: &["run"],
        doc: "How long a run lasts and how often it is repeated.",
        keys: &[
            key(
                "duration",
                Ty::Time { positive: true },
                Required,
                "A run ends at the latest then.",
            ),
            key(
                "warmup",
                Ty::Time { positive: false },
                Is("0 s"),
                "Statistics of queues and goodput start then.",
            ),
            key(
                "seeds",
                Ty::Count { min: 1, max: 100_000 },
                Is("1"),
                "How many times each point is run, each time with the next seed.",
            ),
            key(
                "first-seed",
                Ty::Count { min: 0, max: 1_000_000_000 },
                Is("1"),
                "The first of these seeds.",
            ),
            key(
                "end",
                Ty::Name(Names::Fixed(&["done", "duration"])),
                Is("done"),
                "`done`: already when every flow with a size is delivered; `duration`: only when the time is up.",
            ),
            key(
                "allow-mismatch",
                Ty::Bool,
                Is("false"),
                "Run even where sender and receiver do not understand each other's ECN, to show what then happens.",
            ),
        ],
        switches: false,
    },
    Section {
        path: &["topology"],
        doc: "Links and how they are put together.",
        keys: &[
            key(
                "kind",
                Ty::Name(Names::Topologies),
                Required,
                "`star`: all hosts on one switch; `dumbbell`: two switches with a bottleneck between them.",
            ),
            key("link-rate", Ty::Rate, Required, "Rate of every host's link, in each direction."),
            key(
                "link-delay",
                Ty::Time { positive: false },
                Required,
                "Propagation delay of every host's link, one way.",
            ),
            key(
                "bottleneck-rate",
                Ty::Rate,
                Unset("as `link-rate`"),
                "Rate between the switches (dumbbell only).",
            ),
            key(
                "bottleneck-delay",
                Ty::Time { positive: false },
                Unset("as `link-delay`"),
                "Propagation delay between the switches, one way (dumbbell only).",
            ),
            key(
                "framing",
                Ty::Name(Names::Fixed(&["ethernet", "ip"])),
                Is("ethernet"),
                "What a packet takes on the line beside its own bytes: `ethernet` 38 B, `ip` nothing.",
            ),
            key("mtu", Ty::Size, Is("9000 B"), "The largest IP packet that the links carry."),
        ],
        switches: false,
    },
    Section {
        path: &["switch"],
        doc: "The output ports of the switches.",
        keys: &[
            key(
                "buffer",
                Ty::LengthOrUnlimited,
                Required,
                "What each port may hold, for itself; bytes are those of IP packets.",
            ),
            key(
                "count-in-service",
                Ty::Bool,
                Is("false"),
                "Whether the packet on the line counts as queued, for K and for the buffer.",
            ),
        ],
        switches: false,
    },
    Section {
        path: &["switch", "mark"],
        doc: "Marking (AQM) at the output ports of the switches.",
        keys: MARK_KEYS,
        switches: false,
    },
    pipes::PIPE,
    pipes::PIPE_MARK,
    Section {
        path: &["transport"],
        doc: "How the TCP of every host behaves, where its group does not say otherwise.",
        keys: &[
            key(
                "profile",
                Ty::Name(Names::Profiles),
                Is("rfc"),
                "The stack that all switches are taken from first.",
            ),
            key(
                "scheme",
                Ty::Name(Names::Schemes),
                Unset("the profile as it is"),
                "A bundle of switches on top; not together with `compare.schemes`.",
            ),
        ],
        switches: true,
    },
    Section {
        path: &["hosts", "*"],
        doc: "A group of equal hosts, numbered from zero. What is written here wins over `[transport]`.",
        keys: &[
            key("count", Ty::Count { min: 1, max: 100_000 }, Required, "How many hosts."),
            key(
                "side",
                Ty::Name(Names::Fixed(&["left", "right"])),
                Unset("must be written for a dumbbell, and only there"),
                "On which side of the bottleneck they are.",
            ),
            key(
                "profile",
                Ty::Name(Names::Profiles),
                Unset("as `transport.profile`"),
                "The stack of these hosts.",
            ),
            key(
                "scheme",
                Ty::Name(Names::Schemes),
                Unset("as `transport.scheme`, or the compared one"),
                "A scheme that these hosts keep whatever is compared.",
            ),
        ],
        switches: true,
    },
    host_keys::CLOCK,
    host_keys::NIC,
    Section {
        path: &["traffic", "*"],
        doc: "A group of flows. Its other keys belong to its kind.",
        keys: &[
            key("kind", Ty::Name(Names::Workloads), Is("transfers"), "The workload."),
            key("from", Ty::Hosts, Required, "The hosts that open connections and send."),
            key("to", Ty::Hosts, Required, "The hosts that receive."),
        ],
        switches: false,
    },
    Section {
        path: &["disturbance"],
        doc: "What the seed moves. Without any of it identical hosts lock in phase and all seeds agree.",
        keys: &[
            key(
                "start-jitter",
                Ty::Time { positive: false },
                Is("10 us"),
                "Each flow starts up to this much later, uniformly; about as long as a request takes in a host.",
            ),
            key(
                "host-jitter",
                Ty::Time { positive: false },
                Is("1 us"),
                "Each packet waits up to this much before a host handles it, uniformly; order is kept.",
            ),
            key(
                "ports",
                Ty::Bool,
                Is("true"),
                "Initial sequence numbers and ephemeral ports are drawn.",
            ),
            key(
                "ties",
                Ty::Bool,
                Is("true"),
                "The order of events at the same picosecond is drawn.",
            ),
        ],
        switches: false,
    },
    Section {
        path: &["probes"],
        doc: "What is sampled. It never changes the run.",
        keys: &[
            key("interval", Ty::TimeOrOff, Is("1 ms"), "Time between samples."),
            key(
                "groups",
                Ty::NameList(Names::Traffic),
                Unset("all of them"),
                "Traffic groups whose senders are sampled.",
            ),
            key(
                "flows-per-group",
                Ty::Count { min: 0, max: MOST },
                Is("2"),
                "How many flows of each group, the first ones.",
            ),
            key("queues", Ty::Bool, Is("true"), "Sample the queues of the switches too."),
            key(
                "delays",
                Ty::Bool,
                Is("false"),
                "Set each queueing delay that these flows compute from host stamps beside the true one (table `delays`).",
            ),
            key(
                "trace",
                Ty::Flows,
                Unset("none"),
                "Flows of which every segment, every change of the sender and every packet on the way is recorded.",
            ),
        ],
        switches: false,
    },
    Section {
        path: &["compare"],
        doc: "Everything is run once for each of these.",
        keys: &[key(
            "schemes",
            Ty::NameList(Names::Schemes),
            Unset("one run, as `[transport]` says"),
            "Names of schemes, or of bundles below.",
        )],
        switches: false,
    },
    Section {
        path: &["compare", "bundles", "*"],
        doc: "A scheme of this file's own, which any `scheme` or `schemes` may name.",
        keys: &[
            key(
                "profile",
                Ty::Name(Names::Profiles),
                Unset("as `transport.profile`"),
                "The stack of all hosts whose group names none.",
            ),
            key(
                "base",
                Ty::Name(Names::BaseSchemes),
                Unset("the transport as it is"),
                "The scheme that it starts from.",
            ),
        ],
        switches: true,
    },
];

/// The table of keys that are swept: dotted keys to lists or ranges.
pub(crate) const SWEEP: &str = "sweep";

/// What the table of keys that are swept means.
pub(crate) const SWEEP_DOC: &str = "Everything is run once for each combination of these values: a quoted dotted key, \
     and a list of values or a range `{ from = .., to = .., step = .. }`.";

impl Section {
    /// The keys, with those of all workloads where they belong. What several workloads have is
    /// listed once: it means the same in each (a test).
    pub(crate) fn all_keys(&self) -> Vec<Key> {
        let mut keys = self.keys.to_vec();
        if self.has_workloads() {
            for param in workload::REGISTRY.iter().flat_map(|e| e.params) {
                if keys.iter().all(|k| k.name != param.name) {
                    keys.push(Key::of_param(param));
                }
            }
        }
        keys
    }

    /// Whether a workload adds keys of its own here.
    pub(crate) fn has_workloads(&self) -> bool {
        self.path == ["traffic", "*"]
    }

    /// The key of that name.
    pub(crate) fn key(&self, name: &str) -> Option<Key> {
        self.all_keys().into_iter().find(|k| k.name == name)
    }

    /// Names of the tables that stand directly in this one, switch tables not counted.
    pub(crate) fn children(&self) -> Vec<&'static str> {
        let depth = self.path.len();
        let mut out: Vec<&'static str> = SECTIONS
            .iter()
            .filter(|s| s.path.len() > depth && s.path.starts_with(self.path))
            .map(|s| s.path[depth])
            .collect();
        out.dedup();
        if depth == 0 {
            out.push(SWEEP);
        }
        out.retain(|name| *name != "*");
        out
    }
}

impl Key {
    /// The key of a workload's parameter.
    pub(crate) fn of_param(param: &workload::Param) -> Self {
        let ty = match param.kind {
            ParamKind::Count { min, max } => Ty::Count { min, max },
            ParamKind::Size => Ty::Size,
            ParamKind::SizeOrUnlimited => Ty::SizeOrUnlimited,
            ParamKind::Time => Ty::Time { positive: false },
            ParamKind::Rate => Ty::Rate,
            ParamKind::Choice(names) => Ty::Name(Names::Fixed(names)),
            ParamKind::Parts { min, max } => Ty::Parts { min, max },
            ParamKind::Distribution(_) | ParamKind::File | ParamKind::Optional(_) => Ty::Text,
        };
        let default = param.default.map_or(Required, Is);
        Self { name: param.name, ty, default, doc: param.doc }
    }
}

/// The table that stands at `path`, where names that people choose are `*`.
pub(crate) fn section(path: &[&str]) -> Option<&'static Section> {
    SECTIONS.iter().find(|s| s.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree;

    #[test]
    fn every_default_is_a_value_of_its_key() {
        let known = |names: Names| crate::known::Known::default().list(names);
        let mut seen = 0;
        for section in SECTIONS {
            for key in section.all_keys() {
                if let Is(text) = key.default {
                    let node = tree::parse_value(0, 0, text);
                    let value = key.ty.read(&node, &known);
                    assert!(value.is_ok(), "{:?} {}: {value:?}", section.path, key.name);
                    seen += 1;
                }
            }
        }
        assert!(seen > 10);
    }

    #[test]
    fn no_key_stands_twice_and_each_says_what_it_means() {
        for section in SECTIONS {
            let mut names: Vec<_> = section.all_keys().iter().map(|k| k.name).collect();
            names.extend(section.children());
            names.sort_unstable();
            let all = names.len();
            names.dedup();
            assert_eq!(all, names.len(), "{:?}", section.path);
            assert!(section.doc.ends_with('.'));
            assert!(section.all_keys().iter().all(|k| k.doc.ends_with('.')), "{:?}", section.path);
        }
    }

    #[test]
    fn a_key_means_the_same_in_every_workload() {
        let params = || workload::REGISTRY.iter().flat_map(|e| e.params);
        for one in params() {
            for other in params().filter(|p| p.name == one.name) {
                assert_eq!(
                    (one.kind, one.default, one.doc),
                    (other.kind, other.default, other.doc)
                );
            }
        }
    }

    #[test]
    fn tables_within_tables_are_found() {
        assert_eq!(section(&["switch"]).unwrap().children(), ["mark"]);
        assert_eq!(section(&["compare"]).unwrap().children(), ["bundles"]);
        assert!(section(&[]).unwrap().children().contains(&"sweep"));
    }
}
