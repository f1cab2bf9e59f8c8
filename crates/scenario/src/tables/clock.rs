//! `[hosts.NAME.clock]`: the clock that stamps packets, and the tick of timers.

use lowtide_host::clock::TimestampPoint;
use lowtide_host::{ClockSpec, NoiseSpec, STACK_DEVIATION};
use lowtide_units::{Duration, Fraction};

use crate::keys::key;
use crate::reader::TableReader;
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_writer::TomlWriter;
use crate::value::{KeyType, NameSet};
use lowtide_schema::DefaultValue::{Is, Unset};

/// Limits of a clock's drift: a hundred times that of quartz.
const DRIFT: KeyType =
    KeyType::Parts { min: Fraction::from_percent(-1), max: Fraction::from_percent(1) };

/// `[hosts.NAME.clock]`.
pub(super) static CLOCK: TableSpec = TableSpec {
    path: &["hosts", "*", "clock"],
    doc: "Clock of packet timestamps, for schemes that measure delay, and tick of TCP timers. The clock does not affect timers. The default is perfect.",
    keys: &[
        key(
            "offset",
            KeyType::Time { positive: false },
            Is("0 s"),
            "Clock offset at the start of the run.",
        ),
        key(
            "offset-spread",
            KeyType::Time { positive: false },
            Is("0 s"),
            "Additional offset of each host, uniform up to this.",
        ),
        key(
            "drift",
            DRIFT,
            Is("0 ppm"),
            "Clock drift; `40 ppm` is 40 ns per millisecond (DX §III).",
        ),
        key(
            "drift-spread",
            KeyType::Parts { min: Fraction::ZERO, max: Fraction::from_percent(1) },
            Is("0 ppm"),
            "Additional drift of each host, uniform up to this in both directions.",
        ),
        key(
            "granularity",
            KeyType::Time { positive: true },
            Is("1 ns"),
            "Resolution of the clock: readings are rounded down to it. Timestamps are in nanoseconds.",
        ),
        key(
            "timer-tick",
            KeyType::Time { positive: false },
            Is("0 s"),
            "TCP timers fire at the first tick at or after their expiry. The phase of the ticks is drawn per host. Unlike this, `rto-granularity` rounds timeouts to multiples. Pacing has no ticks.",
        ),
        key(
            "stamps",
            KeyType::Name(NameSet::Fixed(&["hardware", "driver", "kernel"])),
            Is("hardware"),
            "Timestamp point: `hardware` at the line; `driver` when a packet is passed to or taken from the NIC; `kernel` in TCP.",
        ),
        key(
            "noise",
            KeyType::Name(NameSet::Fixed(&[
                "none",
                "uniform",
                "normal",
                "exponential",
                "stack",
                "dma",
            ])),
            Unset("`stack` for `stamps = \"kernel\"`, else `none`"),
            "Timestamp error: `uniform` and `normal` around zero, `exponential` early when sending and late when receiving, `stack` 3.5 us plus an exponential (DX fig. 3), `dma` a NIC that stamps at DMA completion (DX §III).",
        ),
        key(
            "noise-deviation",
            KeyType::Time { positive: false },
            Unset("`40.35 us` for `stack`, else `0 s`"),
            "Standard deviation of that error; not for `none` and `dma`.",
        ),
        key(
            "calibrate",
            KeyType::Bool,
            Is("false"),
            "Separate timestamps that are closer than the line rate allows by the serialization time of the later packet (DX §III, fig. 5).",
        ),
    ],
    tables: &[],
    contents: TableContents::KeysOnly,
};

/// Reads the clock of the host group that `group` reads; `base` without the table.
pub(super) fn read(group: &mut TableReader<'_, '_, '_>, base: ClockSpec) -> ClockSpec {
    if !group.has(CLOCK.name()) {
        return base;
    }
    let mut r = group.subtable(&CLOCK);
    let point = match r.text("stamps").as_deref() {
        Some("driver") => TimestampPoint::Driver,
        Some("kernel") => TimestampPoint::Kernel,
        _ => TimestampPoint::Hardware,
    };
    let default = if point == TimestampPoint::Kernel { "stack" } else { "none" };
    ClockSpec {
        offset: r.time("offset").unwrap_or_default(),
        offset_spread: r.time("offset-spread").unwrap_or_default(),
        drift: r.parts("drift").unwrap_or_default(),
        drift_spread: r.parts("drift-spread").unwrap_or_default(),
        timer_tick: r.time("timer-tick").unwrap_or_default(),
        granularity: r.time("granularity").unwrap_or(ClockSpec::IDEAL.granularity),
        timestamp_point: point,
        noise: noise(&mut r, default),
        calibrate: r.bool("calibrate"),
    }
}

fn noise(r: &mut TableReader<'_, '_, '_>, default: &str) -> NoiseSpec {
    let name = r.text("noise").unwrap_or_else(|| default.to_owned());
    let deviation = r.time("noise-deviation");
    let positive = deviation.is_some_and(|d| d > Duration::ZERO);
    match name.as_str() {
        "stack" => return NoiseSpec::Stack(deviation.unwrap_or(STACK_DEVIATION)),
        "none" | "dma" if positive => {
            let help = "remove it, or write `noise = \"normal\"`".to_owned();
            let message = format!("`noise-deviation` has no effect on `noise = \"{name}\"`");
            r.report("noise-deviation", message, Some(help));
        }
        "uniform" | "normal" | "exponential" if !positive => {
            let message = format!("`noise = \"{name}\"` needs its standard deviation");
            let help = "write `noise-deviation = \"1.2 us\"`, or remove `noise`".to_owned();
            r.report("noise", message, Some(help));
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

/// Writes `[hosts.NAME.clock]`.
pub(super) fn write(out: &mut TomlWriter, name: &str, clock: &ClockSpec) {
    out.table(&format!("hosts.{name}.clock"));
    out.text("offset", clock.offset);
    out.text("offset-spread", clock.offset_spread);
    out.text("drift", clock.drift);
    out.text("drift-spread", clock.drift_spread);
    out.text("granularity", clock.granularity);
    out.text("timer-tick", clock.timer_tick);
    let point = match clock.timestamp_point {
        TimestampPoint::Hardware => "hardware",
        TimestampPoint::Driver => "driver",
        TimestampPoint::Kernel => "kernel",
    };
    out.text("stamps", point);
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
