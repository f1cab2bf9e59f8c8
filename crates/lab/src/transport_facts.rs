//! Transports of the flows of a traffic group: requested, and effective after the handshake.
//!
//! Contract: only flows with a complete handshake count; the others negotiated nothing.

use lowtide_rows::FlowRow;
use lowtide_tcp::{EcnMode, cc};
use serde::Serialize;

/// Number of flows of a traffic group with the same requested and effective transport.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TransportFacts {
    /// Congestion control that the sender requested.
    pub cc: String,
    /// Congestion control that was effective.
    pub cc_used: String,
    /// Setting `ecn` of the end that opened the connection.
    pub ecn_requested: String,
    /// ECN mode that was negotiated: `off`, `rfc3168` or `accecn`; `unknown` if an end does not
    /// report it.
    pub ecn_mode: String,
    /// Whether the delay option was negotiated.
    pub delay_option: bool,
    /// Number of flows.
    pub flows: usize,
}

impl TransportFacts {
    /// Returns the transports of a group's flows, in the order of their first flows.
    pub(crate) fn of(flows: &[&FlowRow]) -> Vec<Self> {
        let mut out: Vec<Self> = Vec::new();
        for flow in flows.iter().filter(|f| f.established_ps.is_some()) {
            if let Some(known) = out.iter_mut().find(|facts| facts.are_of(flow)) {
                known.flows += 1;
                continue;
            }
            out.push(Self {
                cc: flow.cc.to_string(),
                cc_used: flow.cc_used.to_string(),
                ecn_requested: flow.ecn_requested.to_string(),
                ecn_mode: flow.ecn_mode.to_string(),
                delay_option: flow.delay_option,
                flows: 1,
            });
        }
        out
    }

    /// Returns whether a flow has this transport.
    fn are_of(&self, flow: &FlowRow) -> bool {
        *self.cc == *flow.cc
            && *self.cc_used == *flow.cc_used
            && *self.ecn_requested == *flow.ecn_requested
            && *self.ecn_mode == *flow.ecn_mode
            && self.delay_option == flow.delay_option
    }

    /// Returns whether another congestion control than the requested one was effective.
    pub(crate) fn fell_back(&self) -> bool {
        // Linux calls this congestion control `reno`.
        let own = |name: &str| if name == "reno" { "newreno".to_owned() } else { name.to_owned() };
        !self.cc_used.is_empty() && own(&self.cc) != own(&self.cc_used)
    }

    /// Returns the reason of a fallback, if the registry knows it.
    pub(crate) fn reason(&self) -> &'static str {
        match cc::REGISTRY.find(&self.cc).map(|entry| entry.requires) {
            Some(wants) if wants.host_stamps && !self.delay_option => {
                ": the delay option was not agreed"
            }
            Some(wants) if wants.ecn && self.ecn_mode == EcnMode::Off.name() => {
                ": ECN was not agreed"
            }
            _ => "",
        }
    }

    /// Returns whether ECN was requested, but another mode or none was negotiated.
    pub(crate) fn ecn_downgraded(&self) -> bool {
        let (classic, accurate) = (EcnMode::Classic.name(), EcnMode::AccEcn.name());
        let asks = [classic, accurate].contains(&self.ecn_requested.as_str());
        let known = [EcnMode::Off.name(), classic].contains(&self.ecn_mode.as_str());
        asks && known && self.ecn_mode != self.ecn_requested
    }
}

/// Returns the effective congestion control and ECN mode of a flow: `dctcp, ECN rfc3168`.
pub(crate) fn transport_of(flow: &FlowRow) -> String {
    if flow.established_ps.is_none() {
        return NEVER_OPENED.to_owned();
    }
    kind(&flow.cc_used, &flow.ecn_mode)
}

const NEVER_OPENED: &str = "nothing: its handshake was not completed";

/// Returns a transport as text; an empty name is unknown.
pub(crate) fn kind(cc_used: &str, ecn_mode: &str) -> String {
    let [cc, mode] = [cc_used, ecn_mode].map(|name| if name.is_empty() { "unknown" } else { name });
    format!("{cc}, ECN {mode}")
}

#[cfg(test)]
mod tests {
    use lowtide_rows::FlowStatus;

    use super::*;

    fn facts(cc: [&str; 2], ecn: [&str; 2]) -> TransportFacts {
        TransportFacts {
            cc: cc[0].to_owned(),
            cc_used: cc[1].to_owned(),
            ecn_requested: ecn[0].to_owned(),
            ecn_mode: ecn[1].to_owned(),
            delay_option: false,
            flows: 1,
        }
    }

    #[test]
    fn a_fallback_compares_controls_by_all_their_names() {
        for (cc, falls_back) in [
            (["dx", "newreno"], true),
            (["newreno", "reno"], false),
            (["dctcp", "dctcp"], false),
            // A kernel that does not report it.
            (["dctcp", ""], false),
        ] {
            assert_eq!(facts(cc, ["off", "off"]).fell_back(), falls_back, "{cc:?}");
        }
        assert_eq!(facts(["dctcp", "newreno"], ["off", "off"]).reason(), ": ECN was not agreed");
        assert_eq!(facts(["mine", "newreno"], ["off", "off"]).reason(), "");
    }

    #[test]
    fn ecn_is_downgraded_only_if_requested() {
        for (ecn, lost) in [
            (["rfc3168", "off"], true),
            (["accecn", "rfc3168"], true),
            (["accecn", "off"], true),
            (["accecn", "accecn"], false),
            (["rfc3168", "rfc3168"], false),
            // Only accepted, never requested.
            (["passive", "off"], false),
            (["off", "off"], false),
            (["accecn", "unknown"], false),
        ] {
            assert_eq!(facts(["newreno"; 2], ecn).ecn_downgraded(), lost, "{ecn:?}");
        }
    }

    #[test]
    fn flows_without_a_handshake_negotiated_nothing() {
        use crate::times::tests::flow;
        let asked =
            FlowRow { cc: "dx".into(), cc_used: "dx".into(), ..flow(0, None, FlowStatus::Failed) };
        let opened =
            FlowRow { cc_used: "newreno".into(), established_ps: Some(1), ..asked.clone() };
        let facts = TransportFacts::of(&[&asked, &opened, &opened]);
        let [facts] = &facts[..] else { panic!("{facts:?}") };
        assert_eq!((facts.flows, facts.fell_back()), (2, true));
        assert_eq!(transport_of(&asked), NEVER_OPENED);
        assert_eq!(transport_of(&opened), "newreno, ECN unknown");
    }
}
