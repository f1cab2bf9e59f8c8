//! What a host is made of besides its transport: from `[hosts.NAME.clock]` and `[hosts.NAME.nic]` to
//! specifications, and back to text.

use lowtide_host::clock::Place;
use lowtide_host::{AggregationSpec, BucketSpec, ClockSpec, NicSpec, NoiseSpec, STACK_DEVIATION};
use lowtide_units::{Bytes, Duration};

use crate::emit::Text;
use crate::keys::section;
use crate::reader::Reader;

/// Reads the clock of the group that `group` reads.
pub(crate) fn clock(group: &mut Reader<'_, '_, '_>) -> ClockSpec {
    let Some(found) = section(&["hosts", "*", "clock"]) else { return ClockSpec::IDEAL };
    let mut r = group.below(found, "clock");
    let place = match r.text("stamps").as_deref() {
        Some("driver") => Place::Driver,
        Some("kernel") => Place::Kernel,
        _ => Place::Hardware,
    };
    let default = if place == Place::Kernel { "stack" } else { "none" };
    ClockSpec {
        offset: r.time("offset").unwrap_or_default(),
        offset_spread: r.time("offset-spread").unwrap_or_default(),
        drift: r.parts("drift").unwrap_or_default(),
        drift_spread: r.parts("drift-spread").unwrap_or_default(),
        granularity: r.time("granularity").unwrap_or(ClockSpec::IDEAL.granularity),
        place,
        noise: noise(&mut r, default),
        calibrate: r.bool("calibrate"),
    }
}

fn noise(r: &mut Reader<'_, '_, '_>, default: &str) -> NoiseSpec {
    let name = r.text("noise").unwrap_or_else(|| default.to_owned());
    let deviation = r.time("noise-deviation");
    let wanted = deviation.is_some_and(|d| d > Duration::ZERO);
    match name.as_str() {
        "stack" => return NoiseSpec::Stack(deviation.unwrap_or(STACK_DEVIATION)),
        "none" | "dma" if wanted => {
            let help = "take it out, or write `noise = \"normal\"`".to_owned();
            let message = format!("`noise-deviation` has no effect on `noise = \"{name}\"`");
            r.complain("noise-deviation", message, Some(help));
        }
        "uniform" | "normal" | "exponential" if !wanted => {
            let message = format!("`noise = \"{name}\"` needs its standard deviation");
            let help = "write `noise-deviation = \"1.2 us\"`, or take `noise` out".to_owned();
            r.complain("noise", message, Some(help));
        }
        _ => {}
    }
    let deviation = deviation.unwrap_or_default();
    match name.as_str() {
        "uniform" => NoiseSpec::Uniform(deviation),
        "normal" => NoiseSpec::Normal(deviation),
        "exponential" => NoiseSpec::Exponential(deviation),
        "dma" => NoiseSpec::Dma,
        _ => NoiseSpec::None,
    }
}

/// What is written out where there is no bucket, and where nothing is aggregated: the defaults.
const DEFAULT_BURST: Bytes = Bytes::new(1_538);
const DEFAULT_AGGREGATE: Bytes = Bytes::new(64_000);

/// The most payload of an aggregate: an IP packet has 65535 B, and headers are among them.
const MOST_AGGREGATE: Bytes = Bytes::new(65_000);

/// Reads what stands between TCP and line of the group that `group` reads.
pub(crate) fn nic(group: &mut Reader<'_, '_, '_>) -> NicSpec {
    let Some(found) = section(&["hosts", "*", "nic"]) else { return NicSpec::default() };
    let mut r = group.below(found, "nic");
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
    let moderation = r.time("moderation").unwrap_or_default();
    NicSpec { bucket, moderation, aggregation, ..NicSpec::default() }
}

/// Writes `[hosts.NAME.nic]` out.
pub(crate) fn write_nic(out: &mut Text, name: &str, nic: &NicSpec) {
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

/// Writes `[hosts.NAME.clock]` out.
pub(crate) fn write_clock(out: &mut Text, name: &str, clock: &ClockSpec) {
    out.table(&format!("hosts.{name}.clock"));
    out.text("offset", clock.offset);
    out.text("offset-spread", clock.offset_spread);
    out.text("drift", clock.drift);
    out.text("drift-spread", clock.drift_spread);
    out.text("granularity", clock.granularity);
    let place = match clock.place {
        Place::Hardware => "hardware",
        Place::Driver => "driver",
        Place::Kernel => "kernel",
    };
    out.text("stamps", place);
    let (name, deviation) = match clock.noise {
        NoiseSpec::None => ("none", Duration::ZERO),
        NoiseSpec::Uniform(deviation) => ("uniform", deviation),
        NoiseSpec::Normal(deviation) => ("normal", deviation),
        NoiseSpec::Exponential(deviation) => ("exponential", deviation),
        NoiseSpec::Stack(deviation) => ("stack", deviation),
        NoiseSpec::Dma => ("dma", Duration::ZERO),
    };
    out.text("noise", name);
    out.text("noise-deviation", deviation);
    out.bare("calibrate", clock.calibrate);
}
