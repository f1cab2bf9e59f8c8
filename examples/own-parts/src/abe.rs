//! ABE: a mark reduces the window less than a loss.
//!
//! ## Algorithm
//! NewReno, except for the first mark of a window of data, which reduces the window to `keep`
//! instead of half. A mark comes from a short queue, a loss from a full one: after a mark the link
//! has less to drain before it runs empty.
//!
//! ## Spec
//! RFC 8511 §3: beta_ecn = 0.8 if the window grows as in RFC 5681.
//!
//! ## Deviations
//! The cut starts from cwnd, as in `newreno`; RFC 8511 §3 has FlightSize.
//!
//! ## Kernel twin
//! FreeBSD has it in `cc_newreno.c` (`net.inet.tcp.cc.abe`).

use alloc::boxed::Box;

use lowtide_tcp::cc::{
    AckSample, CcEntry, CcSetup, CongestionControl, CongestionEvent, CongestionWindow,
    DeclaredProperties, Exemption, Factor, Reaction, Requirements, Signal,
};
use lowtide_tcp::{DefaultValue, Param, ValueKind, Values};

/// Registration.
pub static ENTRY: CcEntry = CcEntry {
    name: "abe",
    summary: "NewReno that keeps 0.8 of its window at a mark",
    spec: "RFC 8511 §3",
    equations: &[],
    params: &[Param {
        name: "keep",
        kind: ValueKind::Count { min: 50, max: 100 },
        default: DefaultValue::Is("80"),
        doc: "Window after a mark, in 1/100 of the window before.",
        source: "RFC 8511 §3.1: 0.8 for Reno",
    }],
    declared: DeclaredProperties {
        reacts_to: &[Signal::Loss, Signal::Ecn],
        floor_segments: 2,
        proportional: false,
        rate_based: false,
        exemptions: &[Exemption { rule: "ecn-halves", source: "RFC 8511 §3" }],
    },
    requires: Requirements { ecn: false, host_stamps: false, rate_samples: false },
    build,
};

fn build(values: &Values, setup: &CcSetup) -> Box<dyn CongestionControl> {
    let keep = values.count("keep") as u32;
    let window = CongestionWindow::new(setup, Factor::HALF);
    Box::new(Abe { window, keep: Factor { num: keep, den: 100 } })
}

#[derive(Debug)]
struct Abe {
    window: CongestionWindow,
    keep: Factor,
}

impl CongestionControl for Abe {
    fn on_ack(&mut self, ack: &AckSample) -> Reaction {
        if ack.ece && ack.may_reduce && self.window.ecn() {
            self.window.cut_to(self.keep.of(self.window.cwnd()));
            return Reaction::Reduced;
        }
        self.window.grow(ack);
        Reaction::None
    }

    fn on_event(&mut self, event: &CongestionEvent) {
        self.window.on_event(event);
    }

    fn cwnd(&self) -> u64 {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }
}
