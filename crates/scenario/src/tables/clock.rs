//! `[hosts.NAME.clock]`: the clock that stamps packets, and the tick of timers.

use lowtide_host::clock::TimestampPoint;
use lowtide_host::{ClockSpec, NoiseSpec, STACK_DEVIATION};
use lowtide_units::{Duration, Fraction};

use crate::keys::KeyDefault::{Is, Unset};
use crate::keys::key;
use crate::reader::TableReader;
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_writer::TomlWriter;
use crate::value::{KeyType, NameSet};

/// The most that a clock may drift: a hundred times what quartz does.
const DRIFT: KeyType =
    KeyType::Parts { min: Fraction::from_percent(-1), max: Fraction::from_percent(1) };

/// `[hosts.NAME.clock]`.
pub(super) static CLOCK: TableSpec = TableSpec {
    path: &["hosts", "*", "clock"],
    doc: "The clock that stamps packets, for schemes that measure delay, which moves no timer; and the tick of timers. The default is perfect.",
    keys: &[
        key(
            "offset",
            KeyType::Time { positive: false },
            Is("0 s"),
            "How far the clock is ahead at the start of the run.",
        ),
        key(
            "offset-spread",
            KeyType::Time { positive: false },
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
            KeyType::Parts { min: Fraction::ZERO, max: Fraction::from_percent(1) },
            Is("0 ppm"),
            "Each host's drift is up to this much more or less, uniformly.",
        ),
        key(
            "granularity",
            KeyType::Time { positive: true },
            Is("1 ns"),
            "The tick of the clock: readings are rounded down to it. Stamps are in nanoseconds.",
        ),
        key(
            "timer-tick",
            KeyType::Time { positive: false },
            Is("0 s"),
            "Timers of TCP fire at the first tick at or after their time, on a clock of this tick that runs freely: its phase is drawn per host. `rto-granularity` is another thing: it makes timeouts whole multiples. Pacing has no ticks.",
        ),
        key(
            "stamps",
            KeyType::Name(NameSet::Fixed(&["hardware", "driver", "kernel"])),
            Is("hardware"),
            "Where packets are stamped: `hardware` at the line; `driver` when a packet goes to the NIC or is taken from it; `kernel` in TCP.",
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
            "By how much stamps are wrong: `uniform` and `normal` around zero, `exponential` early when sending and late when receiving, `stack` 3.5 us and an exponential (DX fig. 3), `dma` a NIC that stamps when its DMA is complete (DX §III).",
        ),
        key(
            "noise-deviation",
            KeyType::Time { positive: false },
            Unset("`40.35 us` for `stack`, else `0 s`"),
            "Standard deviation of that error; `none` and `dma` take none.",
        ),
        key(
            "calibrate",
            KeyType::Bool,
            Is("false"),
            "Put stamps that are closer than the line allows apart by the time that the later packet takes on it (DX §III, fig. 5).",
        ),
    ],
    tables: &[],
    contents: TableContents::KeysOnly,
};

/// Reads the clock of the group that `group` reads; without the table it is `base`.
pub(super) fn read(group: &mut TableReader<'_, '_, '_>, base: ClockSpec) -> ClockSpec {
    if !group.has(CLOCK.name()) {
        return base;
    }
    let mut r = group.subtable(&CLOCK);
    let place = match r.text("stamps").as_deref() {
        Some("driver") => TimestampPoint::Driver,
        Some("kernel") => TimestampPoint::Kernel,
        _ => TimestampPoint::Hardware,
    };
    let default = if place == TimestampPoint::Kernel { "stack" } else { "none" };
    ClockSpec {
        offset: r.time("offset").unwrap_or_default(),
        offset_spread: r.time("offset-spread").unwrap_or_default(),
        drift: r.parts("drift").unwrap_or_default(),
        drift_spread: r.parts("drift-spread").unwrap_or_default(),
        timer_tick: r.time("timer-tick").unwrap_or_default(),
        granularity: r.time("granularity").unwrap_or(ClockSpec::IDEAL.granularity),
        timestamp_point: place,
        noise: noise(&mut r, default),
        calibrate: r.bool("calibrate"),
    }
}

fn noise(r: &mut TableReader<'_, '_, '_>, default: &str) -> NoiseSpec {
    let name = r.text("noise").unwrap_or_else(|| default.to_owned());
    let deviation = r.time("noise-deviation");
    let wanted = deviation.is_some_and(|d| d > Duration::ZERO);
    match name.as_str() {
        "stack" => return NoiseSpec::Stack(deviation.unwrap_or(STACK_DEVIATION)),
        "none" | "dma" if wanted => {
            let help = "take it out, or write `noise = \"normal\"`".to_owned();
            let message = format!("`noise-deviation` has no effect on `noise = \"{name}\"`");
            r.report("noise-deviation", message, Some(help));
        }
        "uniform" | "normal" | "exponential" if !wanted => {
            let message = format!("`noise = \"{name}\"` needs its standard deviation");
            let help = "write `noise-deviation = \"1.2 us\"`, or take `noise` out".to_owned();
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

/// Writes `[hosts.NAME.clock]` out.
pub(super) fn write(out: &mut TomlWriter, name: &str, clock: &ClockSpec) {
    out.table(&format!("hosts.{name}.clock"));
    out.text("offset", clock.offset);
    out.text("offset-spread", clock.offset_spread);
    out.text("drift", clock.drift);
    out.text("drift-spread", clock.drift_spread);
    out.text("granularity", clock.granularity);
    out.text("timer-tick", clock.timer_tick);
    let place = match clock.timestamp_point {
        TimestampPoint::Hardware => "hardware",
        TimestampPoint::Driver => "driver",
        TimestampPoint::Kernel => "kernel",
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
