//! Mechanisms of the field that lowtide does not simulate: the one table of their sentences.
//!
//! A user who names one of them as a key, scheme or part gets its sentence instead of an error
//! about an unknown name. `docs/explanation/not-simulated.md` shows the table; a test compares
//! them.

use alloc::string::String;

/// A mechanism, or several with one reason.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct NotSimulated {
    /// Names as users write them, in lower case with hyphens.
    pub names: &'static [&'static str],
    /// One sentence without a full stop: the mechanism, why it is absent, and the nearest part.
    pub sentence: &'static str,
}

impl NotSimulated {
    /// Returns the mechanism that `name` asks for. Case and `_` for `-` do not matter. The first
    /// word of a longer name counts (`pfc-headroom`), and a version may follow (`bbrv2`).
    pub fn find(name: &str) -> Option<&'static Self> {
        let name: String = name.to_ascii_lowercase().replace('_', "-");
        let first = name.split(['-', '.']).next().unwrap_or_default();
        let family = first.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('v');
        let named = |row: &&Self| row.names.iter().any(|n| [&name, first, family].contains(n));
        NOT_SIMULATED.iter().find(named)
    }
}

/// All rows, in the order of the page.
pub static NOT_SIMULATED: &[NotSimulated] = &[
    NotSimulated {
        names: &["roce", "rdma", "iwarp", "infiniband"],
        sentence: "RoCE is not simulated: the NIC is the transport of RDMA, and every flow here \
                   is a TCP connection; nearest is scheme `dctcp`",
    },
    NotSimulated {
        names: &["dcqcn"],
        sentence: "DCQCN is not simulated: it sets the rate of a RoCE NIC from CNP packets, and \
                   senders here have a window; nearest is scheme `dctcp`, whose alpha it has",
    },
    NotSimulated {
        names: &["pfc", "priority-flow-control", "lossless"],
        sentence: "PFC is not simulated: a full buffer pauses the port before it, and ports here \
                   drop; nearest is `[switch.class.NAME]` with its own buffer",
    },
    NotSimulated {
        names: &["hpcc", "hpcc++", "int", "in-band-telemetry", "powertcp"],
        sentence: "HPCC and INT are not simulated: switches write queue lengths into packets, and \
                   switches here only set CE; nearest is scheme `hull`",
    },
    NotSimulated {
        names: &["trimming", "trim", "packet-trimming"],
        sentence: "packet trimming is not simulated: a full buffer forwards the header alone, and \
                   buffers here drop the packet; nearest is `recovery = \"rack\"`",
    },
    NotSimulated {
        names: &["ndp", "eqds", "homa", "expresspass", "receiver-driven"],
        sentence: "NDP, EQDS, Homa and ExpressPass are not simulated: receivers grant each packet, \
                   and senders here have a window; nearest is `routing.kind = \"spray\"`",
    },
    NotSimulated {
        names: &["pfabric", "pias", "pdq", "d2tcp"],
        sentence: "pFabric, PIAS, PDQ and D2TCP are not simulated: they serve by size or deadline, \
                   and a class here is that of a traffic group; nearest is `[switch.class.NAME]`",
    },
    NotSimulated {
        names: &["timely"],
        sentence: "TIMELY is not simulated: it follows the gradient of the delay, and its rules \
                   are not written; nearest is scheme `swift`",
    },
    NotSimulated {
        names: &["bbr", "tcp-bbr"],
        sentence: "BBR version 2 and the ECN of version 3 are not simulated: the draft of version 3 \
                   has no reaction to ECN; nearest is scheme `bbr3`, Not-ECT",
    },
    NotSimulated {
        names: &["prague", "tcp-prague", "l4s", "dualpi2", "dualq"],
        sentence: "Prague and L4S are not simulated for now: they need ECT(1) at senders and a \
                   coupled AQM of two queues; nearest is scheme `dctcp-accecn` with marker `step`",
    },
    NotSimulated {
        names: &["nscc", "rccc", "uec", "ultra-ethernet"],
        sentence: "NSCC and Ultra Ethernet are not simulated: their transport is not TCP and \
                   needs trimming; nearest is scheme `dctcp` with `routing.kind = \"spray\"`",
    },
    NotSimulated {
        names: &["udp", "quic", "sctp"],
        sentence: "UDP and QUIC are not simulated: every flow here is a TCP connection; nearest \
                   is traffic of kind `rate-limited`",
    },
    NotSimulated {
        names: &["wireless", "wifi", "wi-fi", "lte", "5g"],
        sentence: "wireless links are not simulated: their rate varies and they retransmit \
                   frames, and links here have one rate; nearest is `loss` of a `[pipe.NAME]`",
    },
    NotSimulated {
        names: &["fq", "fq-codel", "fq-pie", "cake", "sfq", "wfq"],
        sentence: "a queue for each flow (fq_codel, CAKE) is not simulated: ports here have one \
                   for each class; nearest is `[switch.class.NAME]` with marker `codel`",
    },
    NotSimulated {
        names: &["ecn-sharp", "ecnsharp", "ecn#", "tcn"],
        sentence: "ECN# and TCN are not built in: they mark by sojourn time; nearest is marker \
                   `codel`, and `examples/own-parts/src/tcn.rs` is TCN in an own crate",
    },
    NotSimulated {
        names: &["conga", "drill", "presto", "plb", "mptcp", "multipath"],
        sentence: "CONGA, DRILL and MPTCP are not simulated: they choose paths by load, and paths \
                   here follow a hash, gaps or turns; nearest is \
                   `routing.kind = \"flowlet\"` (LetFlow)",
    },
    NotSimulated {
        names: &["vxlan", "geneve", "gre", "tunnel"],
        sentence: "tunnels (VXLAN, Geneve, RFC 6040) are not simulated: packets here have one IP \
                   header; nearest is an `mtu` without the bytes of the outer header",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mechanism_is_found_as_people_write_it() {
        for (name, row) in [
            ("pfc", "pfc"),
            ("PFC", "pfc"),
            ("pfc_headroom", "pfc"),
            ("pfc.xoff", "pfc"),
            ("RoCEv2", "roce"),
            ("bbr2", "bbr"),
            ("BBRv3", "bbr"),
            ("timely.target", "timely"),
            ("tcp_prague", "prague"),
            ("dualpi2", "prague"),
            ("5g", "wireless"),
            ("ultra_ethernet", "nscc"),
        ] {
            assert_eq!(NotSimulated::find(name).map(|row| row.names[0]), Some(row), "{name}");
        }
        for other in ["", "-", "v", "2", "dctcp", "dctp", "interval", "swif", "pf", "ecn", "pi2"] {
            assert!(NotSimulated::find(other).is_none(), "{other}");
        }
    }
}
