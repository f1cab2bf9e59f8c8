//! DCTCP whose cut takes at most a share of the window.

use lowtide_tcp::cc::alpha::{Q20_BITS, cut};
use lowtide_tcp::cc::dctcp::{Dctcp, INITIAL_ALPHA, SHIFT_G};
use lowtide_tcp::cc::{
    AckSample, CcEntry, CcSetup, CongestionControl, CongestionEvent, DeclaredProperties, Exemption,
    Reaction, Requirements, Signal,
};
use lowtide_tcp::units::Probe;
use lowtide_tcp::{DefaultValue, Param, ValueKind, Values};

/// Registration: what users can choose, and what the conformance kit checks.
pub static ENTRY: CcEntry = CcEntry {
    name: "capped",
    summary: "DCTCP whose cut takes at most a share of the window",
    spec: "RFC 8257 §3.3, except for the limit",
    equations: &[],
    params: &[
        SHIFT_G,
        INITIAL_ALPHA,
        Param {
            name: "limit",
            kind: ValueKind::Count { min: 1, max: 50 },
            default: DefaultValue::Is("10"),
            doc: "Largest cut, in 1/100 of the window.",
            source: "this study",
        },
    ],
    declared: DeclaredProperties {
        reacts_to: &[Signal::Loss, Signal::Ecn],
        floor_segments: 2,
        proportional: true,
        rate_based: false,
        exemptions: &[Exemption { rule: "proportional", source: "this study: at most `limit`" }],
    },
    requires: Requirements { ecn: true, host_stamps: false, rate_samples: false },
    build,
};

/// Makes the control of one connection. `values` has a value for each parameter.
fn build(values: &Values, setup: &CcSetup) -> Box<dyn CongestionControl> {
    Box::new(Capped { dctcp: Dctcp::rfc8257(values, setup), limit: values.count("limit") })
}

#[derive(Debug)]
struct Capped {
    dctcp: Dctcp,
    limit: u64,
}

impl CongestionControl for Capped {
    fn on_ack(&mut self, ack: &AckSample) -> Reaction {
        if !self.dctcp.window.ecn() {
            return self.dctcp.on_ack(ack);
        }
        self.dctcp.observe(ack);
        let window = &self.dctcp.window;
        if ack.ece && ack.may_reduce {
            let least = window.cwnd() - window.cwnd() / 100 * self.limit;
            let target = cut(window.cwnd(), self.dctcp.alpha_q20(), Q20_BITS, least);
            self.dctcp.window.cut_to(target);
            return Reaction::Reduced;
        }
        self.dctcp.window.grow(ack);
        Reaction::None
    }

    fn on_event(&mut self, event: &CongestionEvent) {
        self.dctcp.on_event(event);
    }

    fn cwnd(&self) -> u64 {
        self.dctcp.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.dctcp.ssthresh()
    }

    fn probe(&self, out: &mut dyn Probe) {
        self.dctcp.probe(out);
    }
}
