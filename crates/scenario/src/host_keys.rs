//! The keys of what a host is made of besides its transport: a part of [`crate::keys::SECTIONS`].

use lowtide_units::Parts;

use crate::keys::Fallback::{Is, Unset};
use crate::keys::{Section, key};
use crate::value::{Names, Ty};

/// The most that a clock may drift: a hundred times what quartz does.
const DRIFT: Ty = Ty::Parts { min: Parts::from_percent(-1), max: Parts::from_percent(1) };

/// `[hosts.NAME.clock]`.
pub(crate) const CLOCK: Section = Section {
    path: &["hosts", "*", "clock"],
    doc: "The clock that stamps packets, for schemes that measure delay. It moves no timer. The default is perfect.",
    keys: &[
        key(
            "offset",
            Ty::Time { positive: false },
            Is("0 s"),
            "How far the clock is ahead at the start of the run.",
        ),
        key(
            "offset-spread",
            Ty::Time { positive: false },
            Is("0 s"),
            "Each host's clock is ahead by up to this much more, uniformly.",
        ),
        key(
            "drift",
            DRIFT,
            Is("0 ppm"),
            "How much faster the clock runs; `40 ppm` are 40 ns in a millisecond (DX §III).",
        ),
        key(
            "drift-spread",
            Ty::Parts { min: Parts::ZERO, max: Parts::from_percent(1) },
            Is("0 ppm"),
            "Each host's drift is up to this much more or less, uniformly.",
        ),
        key(
            "granularity",
            Ty::Time { positive: true },
            Is("1 ns"),
            "The tick of the clock: readings are rounded down to it. Stamps are in nanoseconds.",
        ),
        key(
            "stamps",
            Ty::Name(Names::Fixed(&["hardware", "driver", "kernel"])),
            Is("hardware"),
            "Where packets are stamped: `hardware` at the line; `driver` when a packet goes to the NIC or is taken from it; `kernel` in TCP.",
        ),
        key(
            "noise",
            Ty::Name(Names::Fixed(&["none", "uniform", "normal", "exponential", "stack", "dma"])),
            Unset("`stack` for `stamps = \"kernel\"`, else `none`"),
            "By how much stamps are wrong: `uniform` and `normal` around zero, `exponential` early when sending and late when receiving, `stack` 3.5 us and an exponential (DX fig. 3), `dma` a NIC that stamps when its DMA is complete (DX §III).",
        ),
        key(
            "noise-deviation",
            Ty::Time { positive: false },
            Unset("`40.35 us` for `stack`, else `0 s`"),
            "Standard deviation of that error; `none` and `dma` take none.",
        ),
        key(
            "calibrate",
            Ty::Bool,
            Is("false"),
            "Put stamps that are closer than the line allows apart by the time that the later packet takes on it (DX §III, fig. 5).",
        ),
    ],
    switches: false,
};

/// `[hosts.NAME.nic]`.
pub(crate) const NIC: Section = Section {
    path: &["hosts", "*", "nic"],
    doc: "What stands between TCP and the line. All of it is off by default. Segmentation offload is the switch `tso-segments` of the sender.",
    keys: &[
        key(
            "bucket-rate",
            Ty::RateOrOff,
            Is("off"),
            "Burst control: packets leave TCP through a token bucket of this rate, framing counted (DX §V: the rate of the line).",
        ),
        key(
            "bucket-burst",
            Ty::Size,
            Is("1538 B"),
            "How many bytes the bucket holds, framing counted; the default is one full Ethernet packet (DX §V).",
        ),
        key(
            "bucket-poll",
            Ty::Time { positive: false },
            Is("0 s"),
            "The bucket is polled: packets leave at multiples of this only (DX §III).",
        ),
        key(
            "moderation",
            Ty::TimeOrOff,
            Is("off"),
            "The least time between two interrupts; what comes in between waits for the next.",
        ),
        key(
            "aggregate",
            Ty::TimeOrOff,
            Is("off"),
            "Receive aggregation (LRO, GRO): how long a segment waits for those that continue it.",
        ),
        key(
            "aggregate-size",
            Ty::Size,
            Is("64 kB"),
            "The most payload of an aggregate; at most 65000 B.",
        ),
    ],
    switches: false,
};
