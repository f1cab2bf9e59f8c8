//! [`Settings`] to and from `[switch]` of a scenario.

use lowtide_units::{Bytes, Fraction, QueueLength, Ratio, parse_bytes, parse_fraction};
use toml::{Table, Value};

use crate::error::ConfigError;
use crate::settings::{Buffer, Marking, NotEct, Settings, Signal, Thresholds};
use crate::vendor::Vendor;

/// Parts per billion in a percent.
const PPB_IN_PERCENT: i64 = 10_000_000;

/// Returns the table `[switch]` with these settings.
pub fn to_switch(settings: &Settings) -> Table {
    let mut switch = Table::new();
    match settings.buffer {
        Some(Buffer::Dynamic { alpha, memory, reserved }) => {
            put(&mut switch, "buffer", "dynamic");
            put(&mut switch, "alpha", &alpha.to_string());
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
            // The length is the instantaneous one.
            mark.insert("weight".to_owned(), Value::Integer(0));
            let drops = marking.signal == Signal::Drop;
            put(&mut mark, "signal", if drops { "drop" } else { "mark" });
        }
    }
    match marking.signal {
        Signal::Mark(NotEct::Drop) => put(&mut mark, "not-ect", "drop"),
        Signal::Mark(NotEct::Ignore) => put(&mut mark, "not-ect", "ignore"),
        // A scenario refuses `not-ect` if every selected packet is dropped.
        Signal::Drop => {}
    }
    mark
}

fn put(table: &mut Table, key: &str, value: &str) {
    table.insert(key.to_owned(), Value::String(value.to_owned()));
}

/// Reads `[switch]`, as a resolved scenario has it. Thresholds in packets are of `packet` bytes.
///
/// # Errors
/// A key that a switch of `vendor` cannot express.
pub fn from_switch(vendor: Vendor, switch: &Table, packet: Bytes) -> Result<Settings, ConfigError> {
    let reader = Reader { vendor, packet };
    for (key, why) in [
        ("at", "one configuration is of one switch; export a scenario with equal switches"),
        ("class", "queues of several classes are not exported; remove the classes"),
        ("ports-per-memory", "the pool is of the whole switch"),
    ] {
        if switch.contains_key(key) {
            return Err(reader.wrong(key, why));
        }
    }
    let marking = match switch.get("mark") {
        Some(Value::Table(mark)) => reader.marking(mark)?,
        _ => None,
    };
    Ok(Settings { marking, buffer: Some(reader.buffer(switch)?) })
}

/// Reads keys of `[switch]` for a switch of a vendor.
struct Reader {
    vendor: Vendor,
    packet: Bytes,
}

impl Reader {
    fn wrong(&self, key: &str, problem: impl Into<String>) -> ConfigError {
        ConfigError::inexpressible(self.vendor, key, problem)
    }

    fn buffer(&self, switch: &Table) -> Result<Buffer, ConfigError> {
        if self.text(switch, "buffer")? != "dynamic" {
            return self.length(switch, "buffer").map(Buffer::Static);
        }
        let alpha = match switch.get("alpha") {
            None => "1".to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(number) => number.to_string(),
        };
        let wrong = || self.wrong("alpha", format!("`{alpha}` is no ratio, as 1/2 or 8"));
        let alpha = Ratio::parse(&alpha).ok_or_else(wrong)?;
        let has_reserve = switch.contains_key("reserved");
        let reserved = if has_reserve { self.size(switch, "reserved")? } else { Bytes::new(0) };
        Ok(Buffer::Dynamic { alpha, memory: self.size(switch, "memory")?, reserved })
    }

    fn marking(&self, mark: &Table) -> Result<Option<Marking>, ConfigError> {
        let kind = self.text(mark, "kind")?;
        let thresholds = match kind {
            "droptail" => return Ok(None),
            "step" => Thresholds::Step(self.length(mark, "k")?),
            "red" => self.ramp(mark)?,
            other => {
                let problem =
                    format!("WRED has no `{other}`, only `step` and `red` with `weight = 0`");
                return Err(self.wrong("mark.kind", problem));
            }
        };
        let text = |key: &str| mark.get(key).and_then(Value::as_str);
        let signal = match (text("signal"), text("not-ect")) {
            (Some("drop"), _) => Signal::Drop,
            (_, Some("drop")) => Signal::Mark(NotEct::Drop),
            _ => Signal::Mark(NotEct::Ignore),
        };
        Ok(Some(Marking { thresholds, signal }))
    }

    fn ramp(&self, mark: &Table) -> Result<Thresholds, ConfigError> {
        if mark.get("weight").and_then(Value::as_integer) != Some(0) {
            let problem = "the exported WRED acts on the instantaneous queue: `weight = 0`";
            return Err(self.wrong("mark.weight", problem));
        }
        if mark.get("gentle").and_then(Value::as_bool) == Some(true) {
            return Err(self.wrong("mark.gentle", "WRED has no gentle part"));
        }
        let share = self.text(mark, "max-p").ok().and_then(|text| parse_fraction(text).ok());
        let percent = share.filter(|p| p.as_ppb() % PPB_IN_PERCENT == 0);
        let percent = percent.and_then(|p| u8::try_from(p.as_ppb() / PPB_IN_PERCENT).ok());
        let Some(max_percent) = percent.filter(|p| (1..=100).contains(p)) else {
            return Err(self.wrong("mark.max-p", "a whole percentage from 1 to 100"));
        };
        let (min, max) = (self.length(mark, "min")?, self.length(mark, "max")?);
        Ok(Thresholds::Ramp { min, max, max_percent })
    }

    fn text<'a>(&self, table: &'a Table, key: &str) -> Result<&'a str, ConfigError> {
        let text = table.get(key).and_then(Value::as_str);
        text.ok_or_else(|| self.wrong(key, "the scenario does not set it"))
    }

    fn size(&self, table: &Table, key: &str) -> Result<Bytes, ConfigError> {
        parse_bytes(self.text(table, key)?).map_err(|e| self.wrong(key, e.to_string()))
    }

    fn length(&self, table: &Table, key: &str) -> Result<Bytes, ConfigError> {
        let length = QueueLength::parse(self.text(table, key)?);
        match length.map_err(|e| self.wrong(key, e.to_string()))? {
            QueueLength::Bytes(bytes) => Ok(bytes),
            QueueLength::Packets(n) => n
                .checked_mul(self.packet.as_u64())
                .map(Bytes::new)
                .ok_or_else(|| self.wrong(key, "too many packets")),
        }
    }
}
