//! Random configurations: a profile or scheme, then any switch or parameter with any valid value.

use std::num::NonZeroU32;
use std::sync::LazyLock;

use lowtide_tcp::switches::{self, Setting};
use lowtide_tcp::{Config, Value, ValueKind, profile, scheme};
use lowtide_units::{Bytes, Duration, Ratio};

use crate::fuzz_input::FuzzInput;

/// All registered settings, so that new ones are included automatically.
static SETTINGS: LazyLock<Vec<Setting>> = LazyLock::new(switches::all);

pub(super) fn config(draw: &mut FuzzInput<'_>) -> Config {
    let profiles: Vec<_> = profile::REGISTRY.all().collect();
    let base = draw.pick(&profiles);
    let mut config = base.config().expect("profiles are made of settings that exist");
    if draw.flip() {
        let schemes: Vec<_> = scheme::REGISTRY.all().collect();
        draw.pick(&schemes).apply(&mut config).expect("so are schemes");
    }
    for _ in 0..draw.range(0, 12) {
        let setting = SETTINGS[draw.range(0, SETTINGS.len() as u64 - 1) as usize];
        let value = value(draw, setting.kind());
        setting.set(&mut config, &value).expect("a value of its kind and range");
    }
    config
}

fn value(draw: &mut FuzzInput<'_>, kind: ValueKind) -> Value {
    match kind {
        ValueKind::Bool => Value::Bool(draw.flip()),
        ValueKind::Count { min, max } => Value::Count(between(draw, min, max)),
        ValueKind::Bytes { min, max } => Value::Bytes(Bytes::new(between(draw, min, max))),
        ValueKind::Duration { min, max } => {
            Value::Duration(Duration::from_ps(between(draw, min.as_ps(), max.as_ps())))
        }
        ValueKind::Ratio => {
            let [num, den] = [(); 2].map(|()| between(draw, 1, u32::MAX.into()) as u32);
            Value::Ratio(Ratio { num, den: NonZeroU32::new(den).unwrap_or(NonZeroU32::MIN) })
        }
        ValueKind::Choice(names) => Value::Name(draw.pick(names)),
        ValueKind::Name { allowed, .. } => Value::Name(draw.pick(&allowed())),
        ValueKind::NameOrCount { allowed, min, max } => {
            if draw.flip() {
                Value::Name(draw.pick(&allowed()))
            } else {
                Value::Count(between(draw, min, max))
            }
        }
        other => unreachable!("no setting of the transport is {}", other.describe()),
    }
}

/// Draws the ends of the range with increased probability.
fn between(draw: &mut FuzzInput<'_>, min: u64, max: u64) -> u64 {
    match draw.byte() % 8 {
        0 => min,
        1 => max,
        _ => draw.log_range(min, max).clamp(min, max),
    }
}
