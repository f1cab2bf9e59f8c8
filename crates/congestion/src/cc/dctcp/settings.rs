//! Parameters of DCTCP and of the stacks that implement it.

use lowtide_schema::{DefaultValue, Param, ValueKind, Values};

use crate::cc::alpha::{
    KERNEL_BITS, Q20_BITS, SHIFT_G_MAX, alpha_freebsd, alpha_linux, alpha_q20, cut,
};
use crate::cc::{SLOW_START_END, overshoots};

const ARITHMETIC: &[&str] = &["q20", "linux", "freebsd"];
const ORDER: &[&str] = &["estimate-first", "cut-first"];
const AFTER_IDLE: &[&str] = &["keep", "reset"];
const LOSS_FROM: &[&str] = &["flight", "cwnd"];
const LOSS_AFTER_CUT: &[&str] = &["once", "again"];
const LOSS_CUT: &[&str] = &["half", "alpha"];

/// DCTCP.g of RFC 8257 §3.3 as a power of two, for every control that has alpha.
pub const SHIFT_G: Param = Param {
    name: "shift-g",
    kind: ValueKind::Count { min: 0, max: SHIFT_G_MAX as u64 },
    default: DefaultValue::Is("4"),
    doc: "Gain of alpha as a power of two: g = 2^-shift-g.",
    source: "DCTCP paper, SIGCOMM 2010 §4: g = 1/16; §3.4 eq. 15 bounds it",
};

/// DCTCP.Alpha at the start, in 1/1024, for every control that has alpha.
pub const INITIAL_ALPHA: Param = Param {
    name: "initial-alpha",
    kind: ValueKind::Count { min: 0, max: 1024 },
    default: DefaultValue::Is("1024"),
    doc: "Alpha at the start, in 1/1024.",
    source: "RFC 8257 §3.3: 1; §4.2: 0 favours throughput",
};

/// The registered parameters.
pub(super) const PARAMS: &[Param] = &[
    SHIFT_G,
    INITIAL_ALPHA,
    Param {
        name: "arithmetic",
        kind: ValueKind::Choice(ARITHMETIC),
        default: DefaultValue::Is("q20"),
        doc: "Arithmetic of alpha: bytes with 20 fraction bits, or as in Linux or FreeBSD.",
        source: "RFC 8257 §4.2 warns of coarse fixed point",
    },
    Param {
        name: "order",
        kind: ValueKind::Choice(ORDER),
        default: DefaultValue::Is("estimate-first"),
        doc: "Order on an ACK that ends a round and cuts: the new alpha first, or the cut first.",
        source: "RFC 8257 §3.3 lists the estimate first",
    },
    Param {
        name: "after-idle",
        kind: ValueKind::Choice(AFTER_IDLE),
        default: DefaultValue::Is("keep"),
        doc: "Alpha after an idle time of one RTO: kept, or reset to its initial value.",
        source: "RFC 8257 is silent; ODCTCP §4.2.3 resets",
    },
    Param {
        name: "slowstart",
        kind: ValueKind::Bool,
        default: DefaultValue::Is("false"),
        doc: "The first sign of congestion, if it is a mark, halves the window and sets alpha to 1.",
        source: "FreeBSD net.inet.tcp.cc.dctcp.slowstart",
    },
    Param {
        name: "grow-with-cut",
        kind: ValueKind::Bool,
        default: DefaultValue::Is("false"),
        doc: "The ACK that cuts also grows the window, starting from the value after the cut.",
        source: "FreeBSD dctcp_ack_received, after the cut of the same ACK",
    },
    Param {
        name: "loss-from",
        kind: ValueKind::Choice(LOSS_FROM),
        default: DefaultValue::Is("flight"),
        doc: "Quantity that a loss or a timeout halves: bytes in flight, or cwnd.",
        source: "RFC 5681 §3.1 eq. 4 (flight); Linux dctcp_react_to_loss (cwnd)",
    },
    Param {
        name: "loss-after-cut",
        kind: ValueKind::Choice(LOSS_AFTER_CUT),
        default: DefaultValue::Is("once"),
        doc: "A loss in the window of a cut halves cwnd before the cut (once), or after it.",
        source: "RFC 3168 §6.1.2 (once)",
    },
    Param {
        name: "loss-cut",
        kind: ValueKind::Choice(LOSS_CUT),
        default: DefaultValue::Is("half"),
        doc: "Reduction by a loss or a timeout: to a half, or by half of alpha as for a mark.",
        source: "RFC 8257 §3.5 (half); ns-3 TcpDctcp::GetSsThresh (alpha), issue 1012",
    },
    SLOW_START_END,
];

/// Implementation whose integer arithmetic is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arithmetic {
    Q20,
    Linux,
    FreeBsd,
}

impl Arithmetic {
    pub(super) const fn bits(self) -> u32 {
        match self {
            Self::Q20 => Q20_BITS,
            Self::Linux | Self::FreeBsd => KERNEL_BITS,
        }
    }

    /// `kernel`, an alpha in 1/1024, in [`Self::bits`] fraction bits.
    const fn alpha(self, kernel: u64) -> u32 {
        (kernel as u32) << (self.bits() - KERNEL_BITS)
    }

    /// Alpha after a round.
    pub(super) fn estimate(self, alpha: u32, shift_g: u32, marked: u64, total: u64) -> u32 {
        let rule = match self {
            Self::Q20 => alpha_q20,
            Self::Linux => alpha_linux,
            Self::FreeBsd => alpha_freebsd,
        };
        rule(alpha, shift_g, marked, total)
    }

    /// The window after a cut of `cwnd` bytes, without a floor.
    pub(super) fn cut(self, cwnd: u64, alpha: u32, mss: u64) -> u64 {
        if self != Self::Linux {
            return cut(cwnd, alpha, self.bits(), 0);
        }
        let segments = cwnd / mss.max(1);
        cwnd - (segments - cut(segments, alpha, KERNEL_BITS, 0)) * mss
    }
}

/// The parameters of one connection.
#[expect(clippy::struct_excessive_bools, reason = "independent switches")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) arithmetic: Arithmetic,
    pub(super) shift_g: u32,
    /// In `arithmetic.bits()` fraction bits.
    pub(super) initial_alpha: u32,
    pub(super) cut_first: bool,
    pub(super) idle_resets: bool,
    pub(super) slowstart: bool,
    pub(super) grow_with_cut: bool,
    pub(super) loss_from_cwnd: bool,
    pub(super) loss_again: bool,
    /// A loss cuts by alpha.
    pub(super) loss_by_alpha: bool,
    pub(super) overshoots: bool,
}

impl Settings {
    /// RFC 8257 with the gain and the initial alpha in `values`.
    pub(super) fn rfc8257(values: &Values) -> Self {
        let arithmetic = Arithmetic::Q20;
        Self {
            arithmetic,
            shift_g: values.count(SHIFT_G.name) as u32,
            initial_alpha: arithmetic.alpha(values.count(INITIAL_ALPHA.name)),
            cut_first: false,
            idle_resets: false,
            slowstart: false,
            grow_with_cut: false,
            loss_from_cwnd: false,
            loss_again: false,
            loss_by_alpha: false,
            overshoots: false,
        }
    }

    /// The parameters of `dctcp`.
    pub(super) fn read(values: &Values) -> Self {
        let arithmetic = match values.name("arithmetic") {
            "linux" => Arithmetic::Linux,
            "freebsd" => Arithmetic::FreeBsd,
            _ => Arithmetic::Q20,
        };
        Self {
            arithmetic,
            initial_alpha: arithmetic.alpha(values.count(INITIAL_ALPHA.name)),
            cut_first: values.name("order") == "cut-first",
            idle_resets: values.name("after-idle") == "reset",
            slowstart: values.bool("slowstart"),
            grow_with_cut: values.bool("grow-with-cut"),
            loss_from_cwnd: values.name("loss-from") == "cwnd",
            loss_again: values.name("loss-after-cut") == "again",
            loss_by_alpha: values.name("loss-cut") == "alpha",
            overshoots: overshoots(values),
            ..Self::rfc8257(values)
        }
    }
}
