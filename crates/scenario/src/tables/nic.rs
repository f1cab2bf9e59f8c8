//! `[hosts.NAME.nic]`: host stack and NIC, between TCP and the line.

use lowtide_host::{AggregationSpec, BucketSpec, NicSpec, StackDelay, StackJitter, StackSpec};
use lowtide_schema::ValueKind;
use lowtide_units::{Bytes, Duration};

use crate::keys::key;
use crate::reader::TableReader;
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_writer::TomlWriter;
use crate::value::{KeyType, NameSet};
use lowtide_schema::DefaultValue::Is;

/// `[hosts.NAME.nic]`.
pub(super) static NIC: TableSpec = TableSpec {
    path: &["hosts", "*", "nic"],
    doc: "Host stack and NIC. Everything is off by default, without a host profile. Segmentation offload is the sender's switch `tso-segments`.",
    keys: &[
        key(
            "bucket-rate",
            KeyType::RateOrOff,
            Is("off"),
            "Burst control: a token bucket below TCP has this rate, including framing (DX §V: the line rate).",
        ),
        key(
            "bucket-burst",
            KeyType::Size,
            Is("1538 B"),
            "Size of the bucket, including framing; the default is one full Ethernet packet (DX §V).",
        ),
        key(
            "bucket-poll",
            KeyType::Time { positive: false },
            Is("0 s"),
            "Polling interval: packets leave the bucket only at multiples of this (DX §III).",
        ),
        key(
            "tsq-limit",
            KeyType::Or { kind: &ValueKind::SIZE, word: "off" },
            Is("off"),
            "Limit of a connection's data in its host's queue (Linux: TCP small queues); at the limit the window does not grow. Not together with `bucket-rate`, `send-delay` or `send-jitter`.",
        ),
        key(
            "moderation",
            KeyType::TimeOrOff,
            Is("off"),
            "Interrupt moderation: minimum time between two interrupts; packets in between wait for the next.",
        ),
        key(
            "aggregate",
            KeyType::Or { kind: &ValueKind::TIME, word: "off" },
            Is("off"),
            "Receive aggregation (LRO, GRO): time that a segment waits for its successors; `0 s` merges segments of one interrupt.",
        ),
        key(
            "aggregate-size",
            KeyType::Size,
            Is("64 kB"),
            "Maximum payload of an aggregate, up to 65000 B.",
        ),
        key(
            "send-delay",
            KeyType::Time { positive: false },
            Is("0 s"),
            "Send delay of the stack, between TCP and burst control.",
        ),
        key(
            "send-jitter",
            KeyType::Time { positive: false },
            Is("0 s"),
            "Random delay added to `send-delay`; order is kept.",
        ),
        key(
            "receive-delay",
            KeyType::Time { positive: false },
            Is("0 s"),
            "Receive delay of the stack, between the interrupt and receive aggregation.",
        ),
        key(
            "receive-jitter",
            KeyType::Time { positive: false },
            Is("0 s"),
            "Random delay added to `receive-delay`; order is kept.",
        ),
        key(
            "jitter",
            KeyType::Name(NameSet::Fixed(&["uniform", "exponential"])),
            Is("exponential"),
            "Distribution of `send-jitter` and `receive-jitter`: `uniform` up to them, `exponential` with them as the mean.",
        ),
    ],
    tables: &[],
    contents: TableContents::KeysOnly,
};

/// Emitted values without a bucket, and without aggregation: the defaults.
const DEFAULT_BURST: Bytes = Bytes::new(1_538);
const DEFAULT_AGGREGATE: Bytes = Bytes::new(64_000);

/// Maximum payload of an aggregate: an IP packet has at most 65535 B including headers.
const MAX_AGGREGATE: Bytes = Bytes::new(65_000);

/// Reads the host stack and NIC of the host group that `group` reads; unset keys are taken from
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
        let message = format!("a payload of {most} does not fit into an IP packet");
        r.report("aggregate-size", message, Some(format!("write at most {MAX_AGGREGATE}")));
    }
    let moderation = if r.has("moderation") {
        r.time("moderation").unwrap_or_default()
    } else {
        base.moderation
    };
    let small_queue = if r.has("tsq-limit") { r.size("tsq-limit") } else { base.tsq_limit };
    let stack = StackSpec {
        send: stack_delay(&mut r, ["send-delay", "send-jitter"], base.stack.send),
        receive: stack_delay(&mut r, ["receive-delay", "receive-jitter"], base.stack.receive),
    };
    let aggregation = interval.map(|interval| AggregationSpec { interval, max_bytes: most });
    if small_queue.is_some() && (bucket.is_some() || !stack.send.is_none()) {
        let message = "packets would wait before the queue that `tsq-limit` limits".to_owned();
        let help = "remove `bucket-rate`, `send-delay` and `send-jitter`, or this key".to_owned();
        r.report("tsq-limit", message, Some(help));
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
            format!("{needed} of tokens arrive between two polls, but the bucket holds {burst}");
        let help = format!("write `bucket-burst = \"{needed}\"`, or poll more often");
        r.report("bucket-poll", message, Some(help));
    }
    Some(BucketSpec { rate, burst, poll })
}

/// Reads the stack's delay in one direction.
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

/// Writes `[hosts.NAME.nic]`.
pub(super) fn write(out: &mut TomlWriter, name: &str, nic: &NicSpec) {
    out.table(&format!("hosts.{name}.nic"));
    let off = || "off".to_owned();
    out.text("bucket-rate", nic.bucket.map_or_else(off, |b| b.rate.to_string()));
    let bucket = nic.bucket.map_or((DEFAULT_BURST, Duration::ZERO), |b| (b.burst, b.poll));
    out.text("bucket-burst", bucket.0);
    out.text("bucket-poll", bucket.1);
    out.text("tsq-limit", nic.tsq_limit.map_or_else(off, |most| most.to_string()));
    let moderates = nic.moderation > Duration::ZERO;
    out.text("moderation", if moderates { nic.moderation.to_string() } else { off() });
    let aggregation = nic.aggregation;
    out.text("aggregate", aggregation.map_or_else(off, |a| a.interval.to_string()));
    out.text("aggregate-size", aggregation.map_or(DEFAULT_AGGREGATE, |a| a.max_bytes));
    let directions = [("send", nic.stack.send), ("receive", nic.stack.receive)];
    let mut uniform = false;
    for (name, delay) in directions {
        let jitter = match delay.jitter {
            StackJitter::None => Duration::ZERO,
            StackJitter::Uniform(most) => {
                uniform = true;
                most
            }
            StackJitter::Exponential(mean) => mean,
        };
        out.text(&format!("{name}-delay"), delay.constant);
        out.text(&format!("{name}-jitter"), jitter);
    }
    out.text("jitter", if uniform { "uniform" } else { "exponential" });
}
