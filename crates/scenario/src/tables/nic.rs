//! `[hosts.NAME.nic]`: what stands between TCP and the line.

use lowtide_host::{AggregationSpec, BucketSpec, NicSpec, StackDelay, StackJitter, StackSpec};
use lowtide_traffic::workload::WorkloadParamKind;
use lowtide_units::{Bytes, Duration};

use crate::keys::KeyDefault::Is;
use crate::keys::key;
use crate::reader::TableReader;
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_writer::TomlWriter;
use crate::value::{KeyType, NameSet};

/// `[hosts.NAME.nic]`.
pub(super) static NIC: TableSpec = TableSpec {
    path: &["hosts", "*", "nic"],
    doc: "What stands between TCP and the line. Without a host profile all of it is off. Segmentation offload is the switch `tso-segments` of the sender.",
    keys: &[
        key(
            "bucket-rate",
            KeyType::RateOrOff,
            Is("off"),
            "Burst control: packets leave TCP through a token bucket of this rate, framing counted (DX §V: the rate of the line).",
        ),
        key(
            "bucket-burst",
            KeyType::Size,
            Is("1538 B"),
            "How many bytes the bucket holds, framing counted; the default is one full Ethernet packet (DX §V).",
        ),
        key(
            "bucket-poll",
            KeyType::Time { positive: false },
            Is("0 s"),
            "The bucket is polled: packets leave at multiples of this only (DX §III).",
        ),
        key(
            "small-queue",
            KeyType::OrOff(&WorkloadParamKind::Size),
            Is("off"),
            "A connection that has so much in its host's queue holds its data back until it has less (Linux: TCP small queues); the window does not grow meanwhile. Not together with `bucket-rate` or a delay of the way out.",
        ),
        key(
            "moderation",
            KeyType::TimeOrOff,
            Is("off"),
            "The least time between two interrupts; what comes in between waits for the next.",
        ),
        key(
            "aggregate",
            KeyType::OrOff(&WorkloadParamKind::Time),
            Is("off"),
            "Receive aggregation (LRO, GRO): how long a segment waits for those that continue it; `0 s` joins what one interrupt brings.",
        ),
        key(
            "aggregate-size",
            KeyType::Size,
            Is("64 kB"),
            "The most payload of an aggregate; at most 65000 B.",
        ),
        key(
            "send-delay",
            KeyType::Time { positive: false },
            Is("0 s"),
            "The stack's delay on the way out, between TCP and burst control.",
        ),
        key(
            "send-jitter",
            KeyType::Time { positive: false },
            Is("0 s"),
            "What comes on top, at random; order is kept.",
        ),
        key(
            "receive-delay",
            KeyType::Time { positive: false },
            Is("0 s"),
            "The stack's delay on the way in, between the interrupt and receive aggregation.",
        ),
        key(
            "receive-jitter",
            KeyType::Time { positive: false },
            Is("0 s"),
            "What comes on top, at random; order is kept.",
        ),
        key(
            "jitter",
            KeyType::Name(NameSet::Fixed(&["uniform", "exponential"])),
            Is("exponential"),
            "How `send-jitter` and `receive-jitter` are drawn: `uniform` up to them, `exponential` with them as the mean.",
        ),
    ],
    tables: &[],
    contents: TableContents::KeysOnly,
};

/// What is written out where there is no bucket, and where nothing is aggregated: the defaults.
const DEFAULT_BURST: Bytes = Bytes::new(1_538);
const DEFAULT_AGGREGATE: Bytes = Bytes::new(64_000);

/// The most payload of an aggregate: an IP packet has 65535 B, and headers are among them.
const MAX_AGGREGATE: Bytes = Bytes::new(65_000);

/// Reads what stands between TCP and line of the group that `group` reads; what is not written is as in
/// `base`.
pub(super) fn read(group: &mut TableReader<'_, '_, '_>, base: NicSpec) -> NicSpec {
    let mut r = group.subtable(&NIC);
    let bucket = bucket(&mut r, base.bucket);
    let interval =
        if r.has("aggregate") { r.time("aggregate") } else { base.aggregation.map(|a| a.interval) };
    let most = match base.aggregation {
        Some(base) if !r.has("aggregate-size") => base.max_bytes,
        _ => r.size("aggregate-size").unwrap_or_default(),
    };
    if most > MAX_AGGREGATE {
        let message = format!("an IP packet has no room for {most} of payload");
        r.report("aggregate-size", message, Some(format!("{MAX_AGGREGATE} is the most")));
    }
    let moderation = if r.has("moderation") {
        r.time("moderation").unwrap_or_default()
    } else {
        base.moderation
    };
    let small_queue = if r.has("small-queue") { r.size("small-queue") } else { base.tsq_limit };
    let stack = StackSpec {
        send: stack_delay(&mut r, ["send-delay", "send-jitter"], base.stack.send),
        receive: stack_delay(&mut r, ["receive-delay", "receive-jitter"], base.stack.receive),
    };
    let aggregation = interval.map(|interval| AggregationSpec { interval, max_bytes: most });
    if small_queue.is_some() && (bucket.is_some() || !stack.send.is_none()) {
        let message = "packets wait in front of the queue that it limits".to_owned();
        let help = "leave out `bucket-rate`, `send-delay` and `send-jitter`, or this".to_owned();
        r.report("small-queue", message, Some(help));
    }
    NicSpec { stack, bucket, moderation, aggregation, tsq_limit: small_queue }
}

fn bucket(r: &mut TableReader<'_, '_, '_>, base: Option<BucketSpec>) -> Option<BucketSpec> {
    let (mut rate, mut burst) = (r.rate("bucket-rate"), r.size("bucket-burst").unwrap_or_default());
    let mut poll = r.time("bucket-poll").unwrap_or_default();
    if let Some(base) = base {
        rate = if r.has("bucket-rate") { rate } else { Some(base.rate) };
        burst = if r.has("bucket-burst") { burst } else { base.burst };
        poll = if r.has("bucket-poll") { poll } else { base.poll };
    }
    let rate = rate?;
    let needed = rate.bytes_in(poll);
    if needed > burst {
        let message =
            format!("{needed} of tokens come between two polls, but the bucket holds {burst}");
        let help = format!("write `bucket-burst = \"{needed}\"`, or poll more often");
        r.report("bucket-poll", message, Some(help));
    }
    Some(BucketSpec { rate, burst, poll })
}

/// The stack's delay in one direction.
fn stack_delay(
    r: &mut TableReader<'_, '_, '_>,
    [delay, jitter]: [&str; 2],
    base: StackDelay,
) -> StackDelay {
    if !r.has(delay) && !r.has(jitter) {
        return base;
    }
    let constant = r.time(delay).unwrap_or_default();
    let amount = r.time(jitter).unwrap_or_default();
    let uniform = r.text("jitter").as_deref() == Some("uniform");
    let jitter = match (amount == Duration::ZERO, uniform) {
        (true, _) => StackJitter::None,
        (_, true) => StackJitter::Uniform(amount),
        (_, false) => StackJitter::Exponential(amount),
    };
    StackDelay { constant, jitter }
}

/// Writes `[hosts.NAME.nic]` out.
pub(super) fn write(out: &mut TomlWriter, name: &str, nic: &NicSpec) {
    out.table(&format!("hosts.{name}.nic"));
    let off = || "off".to_owned();
    out.text("bucket-rate", nic.bucket.map_or_else(off, |b| b.rate.to_string()));
    let bucket = nic.bucket.map_or((DEFAULT_BURST, Duration::ZERO), |b| (b.burst, b.poll));
    out.text("bucket-burst", bucket.0);
    out.text("bucket-poll", bucket.1);
    out.text("small-queue", nic.tsq_limit.map_or_else(off, |most| most.to_string()));
    let moderates = nic.moderation > Duration::ZERO;
    out.text("moderation", if moderates { nic.moderation.to_string() } else { off() });
    let aggregation = nic.aggregation;
    out.text("aggregate", aggregation.map_or_else(off, |a| a.interval.to_string()));
    out.text("aggregate-size", aggregation.map_or(DEFAULT_AGGREGATE, |a| a.max_bytes));
    let ways = [("send", nic.stack.send), ("receive", nic.stack.receive)];
    let mut uniform = false;
    for (name, way) in ways {
        let jitter = match way.jitter {
            StackJitter::None => Duration::ZERO,
            StackJitter::Uniform(most) => {
                uniform = true;
                most
            }
            StackJitter::Exponential(mean) => mean,
        };
        out.text(&format!("{name}-delay"), way.constant);
        out.text(&format!("{name}-jitter"), jitter);
    }
    out.text("jitter", if uniform { "uniform" } else { "exponential" });
}
