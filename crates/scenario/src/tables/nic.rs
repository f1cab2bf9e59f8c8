//! `[hosts.NAME.nic]`: what stands between TCP and the line.

use lowtide_host::{AggregationSpec, BucketSpec, NicSpec};
use lowtide_units::{Bytes, Duration};

use crate::keys::Fallback::Is;
use crate::keys::{More, Section, key};
use crate::reader::Reader;
use crate::text::Text;
use crate::value::Ty;

/// `[hosts.NAME.nic]`.
pub(super) static NIC: Section = Section {
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
    tables: &[],
    more: More::Nothing,
};

/// What is written out where there is no bucket, and where nothing is aggregated: the defaults.
const DEFAULT_BURST: Bytes = Bytes::new(1_538);
const DEFAULT_AGGREGATE: Bytes = Bytes::new(64_000);

/// The most payload of an aggregate: an IP packet has 65535 B, and headers are among them.
const MOST_AGGREGATE: Bytes = Bytes::new(65_000);

/// Reads what stands between TCP and line of the group that `group` reads.
pub(super) fn read(group: &mut Reader<'_, '_, '_>) -> NicSpec {
    let mut r = group.below(&NIC);
    let (rate, burst) = (r.rate("bucket-rate"), r.size("bucket-burst").unwrap_or_default());
    let poll = r.time("bucket-poll").unwrap_or_default();
    let bucket = rate.map(|rate| BucketSpec { rate, burst, poll });
    let interval = r.time("aggregate");
    let most = r.size("aggregate-size").unwrap_or_default();
    let aggregation = interval.map(|interval| AggregationSpec { interval, most });
    if let Some(BucketSpec { rate, .. }) = bucket
        && rate.bytes_in(poll) > burst
    {
        let needed = rate.bytes_in(poll);
        let message =
            format!("{needed} of tokens come between two polls, but the bucket holds {burst}");
        let help = format!("write `bucket-burst = \"{needed}\"`, or poll more often");
        r.complain("bucket-poll", message, Some(help));
    }
    if most > MOST_AGGREGATE {
        let message = format!("an IP packet has no room for {most} of payload");
        r.complain("aggregate-size", message, Some(format!("{MOST_AGGREGATE} is the most")));
    }
    NicSpec {
        bucket,
        moderation: r.time("moderation").unwrap_or_default(),
        aggregation,
        ..NicSpec::default()
    }
}

/// Writes `[hosts.NAME.nic]` out.
pub(super) fn write(out: &mut Text, name: &str, nic: &NicSpec) {
    out.table(&format!("hosts.{name}.nic"));
    let off = || "off".to_owned();
    out.text("bucket-rate", nic.bucket.map_or_else(off, |b| b.rate.to_string()));
    let bucket = nic.bucket.map_or((DEFAULT_BURST, Duration::ZERO), |b| (b.burst, b.poll));
    out.text("bucket-burst", bucket.0);
    out.text("bucket-poll", bucket.1);
    let moderates = nic.moderation > Duration::ZERO;
    out.text("moderation", if moderates { nic.moderation.to_string() } else { off() });
    let aggregation = nic.aggregation;
    out.text("aggregate", aggregation.map_or_else(off, |a| a.interval.to_string()));
    out.text("aggregate-size", aggregation.map_or(DEFAULT_AGGREGATE, |a| a.most));
}
