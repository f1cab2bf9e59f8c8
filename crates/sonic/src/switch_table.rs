//! [`Settings`] to and from `[switch]` of a scenario.

use lowtide_units::{Bytes, Fraction, QueueLength, Ratio, parse_bytes, parse_fraction};
use toml::{Table, Value};

use crate::error::SonicError;
use crate::settings::{Buffer, MAX_EXPONENT, MIN_EXPONENT, Marking, Settings, Thresholds};

/// Parts per billion in a percent.
const PPB_IN_PERCENT: i64 = 10_000_000;

/// Returns the table `[switch]` with these settings.
pub fn to_switch(settings: &Settings) -> Table {
    let mut switch = Table::new();
    match settings.buffer {
        Some(Buffer::Dynamic { exponent, memory, reserved }) => {
            put(&mut switch, "buffer", "dynamic");
            put(&mut switch, "alpha", &power_of_two(exponent));
            put(&mut switch, "memory", &memory.to_string());
            if reserved != Bytes::new(0) {
                put(&mut switch, "reserved", &reserved.to_string());
            }
        }
        Some(Buffer::Static(limit)) => put(&mut switch, "buffer", &limit.to_string()),
        None => {}
    }
    if let Some(marking) = settings.marking {
        switch.insert("mark".to_owned(), Value::Table(mark_table(marking)));
    }
    switch
}

fn mark_table(marking: Marking) -> Table {
    let mut mark = Table::new();
    match marking.thresholds {
        Thresholds::Step(k) => {
            put(&mut mark, "kind", "step");
            put(&mut mark, "k", &k.to_string());
        }
        Thresholds::Ramp { min, max, max_percent } => {
            put(&mut mark, "kind", "red");
            put(&mut mark, "min", &min.to_string());
            put(&mut mark, "max", &max.to_string());
            put(&mut mark, "max-p", &Fraction::from_percent(max_percent.into()).to_string());
            // The length is the present one.
            mark.insert("weight".to_owned(), Value::Integer(0));
            put(&mut mark, "signal", if marking.ecn { "mark" } else { "drop" });
        }
    }
    put(&mut mark, "not-ect", "drop");
    mark
}

fn put(table: &mut Table, key: &str, value: &str) {
    table.insert(key.to_owned(), Value::String(value.to_owned()));
}

fn power_of_two(exponent: i8) -> String {
    let power = 1_u32 << exponent.unsigned_abs();
    if exponent < 0 { format!("1/{power}") } else { power.to_string() }
}

/// Reads `[switch]`, as a resolved scenario has it. Thresholds in packets are of `packet` bytes.
///
/// # Errors
/// A key that SONiC cannot express.
pub fn from_switch(switch: &Table, packet: Bytes) -> Result<Settings, SonicError> {
    for (key, why) in [
        ("at", "one configuration is of one switch; export a scenario with equal switches"),
        ("class", "queues of several classes are not exported; remove the classes"),
        ("ports-per-memory", "the pool is of the whole switch"),
    ] {
        if switch.contains_key(key) {
            return Err(SonicError::inexpressible(key, why));
        }
    }
    let mark = match switch.get("mark") {
        Some(Value::Table(mark)) => marking(mark, packet)?,
        _ => None,
    };
    Ok(Settings { marking: mark, buffer: Some(buffer(switch, packet)?) })
}

fn buffer(switch: &Table, packet: Bytes) -> Result<Buffer, SonicError> {
    let limit = text(switch, "buffer")?;
    if limit != "dynamic" {
        return length(switch, "buffer", packet).map(Buffer::Static);
    }
    let alpha = match switch.get("alpha") {
        None => "1".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(number) => number.to_string(),
    };
    let exponent = (MIN_EXPONENT..=MAX_EXPONENT)
        .find(|e| Ratio::parse(&alpha) == Ratio::parse(&power_of_two(*e)));
    let Some(exponent) = exponent else {
        let problem = format!(
            "alpha is 2^dynamic_th with dynamic_th from {MIN_EXPONENT} to {MAX_EXPONENT}, not {alpha}"
        );
        return Err(SonicError::inexpressible("alpha", problem));
    };
    let reserved =
        if switch.contains_key("reserved") { size(switch, "reserved")? } else { Bytes::new(0) };
    Ok(Buffer::Dynamic { exponent, memory: size(switch, "memory")?, reserved })
}

fn marking(mark: &Table, packet: Bytes) -> Result<Option<Marking>, SonicError> {
    let kind = text(mark, "kind")?;
    if kind == "droptail" {
        return Ok(None);
    }
    let (thresholds, ecn) = match kind {
        "step" => (Thresholds::Step(length(mark, "k", packet)?), true),
        "red" => ramp(mark, packet)?,
        other => {
            let problem = format!("WRED has no `{other}`, only `step` and `red` with `weight = 0`");
            return Err(SonicError::inexpressible("mark.kind", problem));
        }
    };
    if ecn && mark.get("not-ect").and_then(Value::as_str) != Some("drop") {
        return Err(SonicError::inexpressible(
            "mark.not-ect",
            "WRED drops packets that are not ECN-capable where it marks others: simulate \
             `not-ect = \"drop\"`, or give them another queue",
        ));
    }
    Ok(Some(Marking { thresholds, ecn }))
}

fn ramp(mark: &Table, packet: Bytes) -> Result<(Thresholds, bool), SonicError> {
    if mark.get("weight").and_then(Value::as_integer) != Some(0) {
        let problem = "SONiC's WRED acts on the present queue: `weight = 0`";
        return Err(SonicError::inexpressible("mark.weight", problem));
    }
    if mark.get("gentle").and_then(Value::as_bool) == Some(true) {
        return Err(SonicError::inexpressible("mark.gentle", "WRED has no gentle part"));
    }
    let share = text(mark, "max-p").ok().and_then(|text| parse_fraction(text).ok());
    let percent = share.filter(|p| p.as_ppb() % PPB_IN_PERCENT == 0);
    let percent = percent.and_then(|p| u8::try_from(p.as_ppb() / PPB_IN_PERCENT).ok());
    let Some(max_percent) = percent.filter(|p| (1..=100).contains(p)) else {
        return Err(SonicError::inexpressible("mark.max-p", "a whole percentage from 1 to 100"));
    };
    let (min, max) = (length(mark, "min", packet)?, length(mark, "max", packet)?);
    let ecn = mark.get("signal").and_then(Value::as_str) != Some("drop");
    Ok((Thresholds::Ramp { min, max, max_percent }, ecn))
}

fn text<'a>(table: &'a Table, key: &str) -> Result<&'a str, SonicError> {
    table
        .get(key)
        .and_then(Value::as_str)
        .ok_or_else(|| SonicError::inexpressible(key, "the scenario does not set it"))
}

fn size(table: &Table, key: &str) -> Result<Bytes, SonicError> {
    parse_bytes(text(table, key)?).map_err(|e| SonicError::inexpressible(key, e.to_string()))
}

fn length(table: &Table, key: &str, packet: Bytes) -> Result<Bytes, SonicError> {
    let length = QueueLength::parse(text(table, key)?);
    match length.map_err(|e| SonicError::inexpressible(key, e.to_string()))? {
        QueueLength::Bytes(bytes) => Ok(bytes),
        QueueLength::Packets(n) => n
            .checked_mul(packet.as_u64())
            .map(Bytes::new)
            .ok_or_else(|| SonicError::inexpressible(key, "too many packets")),
    }
}
