//! What a host is made of besides its transport: from `[hosts.NAME.clock]` to a specification, and
//! back to text.

use lowtide_host::clock::Place;
use lowtide_host::{ClockSpec, NoiseSpec, STACK_DEVIATION};
use lowtide_units::Duration;

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
