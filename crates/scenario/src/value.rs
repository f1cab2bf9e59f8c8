//! Types of keys, and conversion of written values to typed ones.

use lowtide_schema::{DistributionOf, Value, ValueKind};
use lowtide_traffic::Cdf;
use lowtide_units::{
    Duration, Fraction, ParseUnitError, QueueLength, Ratio, parse_bytes, parse_duration,
    parse_fraction, parse_rate,
};

use crate::error::unknown;
use crate::toml_tree::{SourceSpan, TomlData, TomlNode};

/// Type of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyType {
    /// Any text on one line.
    Text,
    /// `true` or `false`.
    Bool,
    /// A whole number in a closed range.
    Count { min: u64, max: u64 },
    /// A whole number in a closed range, or `rest`.
    CountOrRest { min: u64, max: u64 },
    /// A duration, at most [`MAX_TIME`]; not zero if `positive`.
    Time { positive: bool },
    /// A duration above zero, or `off`.
    TimeOrOff,
    /// A number of bytes, at least one.
    Size,
    /// Bits per second.
    Rate,
    /// Bits per second, or `off`.
    RateOrOff,
    /// A fraction in a closed range, in parts per billion.
    Parts { min: Fraction, max: Fraction },
    /// Packets or bytes.
    Length,
    /// Packets or bytes, or `unlimited`.
    LengthOrUnlimited,
    /// Packets or bytes, `unlimited`, or `dynamic`.
    Buffer,
    /// An exact ratio above zero: `1/5`, `0.2` or `2`.
    Ratio,
    /// One of a list of names.
    Name(NameSet),
    /// A list of names without repetition; one name needs no list.
    NameList(NameSet),
    /// Arbitrary names without repetition; the text describes them, with an example.
    FreeNames(&'static str),
    /// Hosts: `senders`, `senders.0`, `senders[0..2]`, or a list of these.
    Hosts,
    /// A distribution by name, one value, or a file.
    Distribution(DistributionOf),
    /// A file by its path relative to the scenario.
    File,
    /// A value of this kind, or a word: `off`, `unlimited`.
    Or { kind: &'static ValueKind, word: &'static str },
    /// A value of this kind, which no other type describes.
    Declared(ValueKind),
    /// A list of sizes in ascending order.
    Sizes,
    /// Flows by number, `7`, or by group, `short` and `short.2`; or a list of these.
    Flows,
}

/// Names that a key accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NameSet {
    /// This list.
    Fixed(&'static [&'static str]),
    /// Profiles of the transport.
    Profiles,
    /// Schemes of the transport and bundles of this file.
    Schemes,
    /// Schemes of the transport alone.
    BaseSchemes,
    /// Markers of the network.
    Markers,
    /// Topologies of the network.
    Topologies,
    /// Sides of all topologies.
    Sides,
    /// Workloads.
    Workloads,
    /// Traffic groups of this file.
    Traffic,
    /// Profiles of real switches.
    Switches,
    /// Classes of this file.
    Classes,
    /// Profiles of hosts.
    HostProfiles,
}

/// Longest time in a scenario.
pub(crate) const MAX_TIME: Duration = Duration::from_secs(24 * 3600);

/// Most hosts, flows or points that are accepted as intended.
pub(crate) const MAX_COUNT: u64 = 1_000_000;

/// A typed value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum KeyValue {
    /// One value. Names of a fixed list, and words such as `unlimited`, are [`Value::Name`]. Other
    /// texts and names are [`Value::Text`].
    Single(Value),
    /// A list of names, each with its location.
    Names(Vec<(String, SourceSpan)>),
}

/// Error of a value: message, optional help, and location.
#[derive(Debug)]
pub(crate) struct KeyValueError {
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    pub(crate) at: SourceSpan,
}

impl std::fmt::Display for KeyValue {
    /// The canonical form of a value; reading it back gives the value.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Single(value) => write!(f, "{value}"),
            Self::Names(names) => {
                let names: Vec<&str> = names.iter().map(|(n, _)| n.as_str()).collect();
                f.write_str(&names.join(", "))
            }
        }
    }
}

impl KeyType {
    /// Describes the accepted values, with an example.
    pub(crate) fn describe(self, known: &dyn Fn(NameSet) -> Vec<String>) -> String {
        match self {
            Self::Text => "a text".into(),
            Self::Bool => "`true` or `false`".into(),
            Self::Count { min, max } if max == MAX_COUNT => format!("a whole number, {min} or more"),
            Self::Count { min, max } => format!("a whole number, {min} to {max}"),
            Self::CountOrRest { min, max } => {
                format!("a whole number, {min} to {max}, or `\"rest\"`")
            }
            Self::Time { positive: true } => "a time above zero, `\"100 us\"`".into(),
            Self::Time { positive: false } => "a time, `\"100 us\"`".into(),
            Self::TimeOrOff => "a time above zero, `\"1 ms\"`, or `\"off\"`".into(),
            Self::Size => "a size, `\"30 kB\"`".into(),
            Self::RateOrOff => "a rate, `\"10 Gbit/s\"`, or `\"off\"`".into(),
            Self::Rate => "a rate, `\"10 Gbit/s\"`".into(),
            Self::Parts { min, max } => format!("a share, `\"{min}\"` to `\"{max}\"`"),
            Self::Length => "packets or bytes, `\"20 pkt\"` or `\"30 kB\"`".into(),
            Self::LengthOrUnlimited => {
                "packets or bytes, `\"100 pkt\"` or `\"6 MB\"`, or `\"unlimited\"`".into()
            }
            Self::Buffer => {
                "packets or bytes, `\"100 pkt\"` or `\"6 MB\"`, or `\"unlimited\"`, or `\"dynamic\"`"
                    .into()
            }
            Self::Ratio => "a ratio, `\"1/5\"`, `0.2` or `2`".into(),
            Self::FreeNames(what) => what.into(),
            Self::Distribution(kind) => {
                let value = if kind == DistributionOf::Size { "\"20 kB\"" } else { "\"10 ms\"" };
                let names: Vec<String> =
                    Cdf::names(kind).iter().map(|n| format!("`\"{n}\"`")).collect();
                format!("a distribution, one of {}; one value, `{value}`; or a file", names.join(", "))
            }
            Self::File => "a file, `\"flows.csv\"`".into(),
            Self::Or { kind, word } => {
                format!("{}, or `\"{word}\"`", Self::of_kind(*kind).describe(known))
            }
            Self::Declared(kind) => kind.describe(),
            Self::Sizes => "a list of sizes, in ascending order: `\"10 kB\"`, `\"1 MB\"`".into(),
            Self::Name(names) => format!("one of {}", quoted(names, known)),
            Self::NameList(names) => format!("a list of {}", quoted(names, known)),
            Self::Hosts => {
                "a host group, some of its hosts, or a list: `\"senders\"`, `\"senders.0\"`, `\"senders[0..2]\"`".into()
            }
            Self::Flows => {
                "a flow's number, a traffic group, one of its flows, or a list: `7`, `\"short\"`, `\"short.2\"`".into()
            }
        }
    }

    /// Returns the type of a declared parameter. It may accept values that are out of the range of
    /// `kind`: the reader checks them against `kind` too.
    pub(crate) const fn of_kind(kind: ValueKind) -> Self {
        match kind {
            ValueKind::Bool => Self::Bool,
            ValueKind::Count { min, max } => Self::Count { min, max },
            ValueKind::Bytes { .. } => Self::Size,
            ValueKind::Duration { min, .. } => Self::Time { positive: min.as_ps() > 0 },
            ValueKind::Rate => Self::Rate,
            ValueKind::Fraction { min, max } => Self::Parts { min, max },
            ValueKind::Ratio => Self::Ratio,
            ValueKind::Length => Self::Length,
            ValueKind::Choice(names) => Self::Name(NameSet::Fixed(names)),
            ValueKind::Name { .. } | ValueKind::NameOrCount { .. } => Self::Declared(kind),
            ValueKind::Distribution(of) => Self::Distribution(of),
            ValueKind::File => Self::File,
            ValueKind::Or { kind, word } => Self::Or { kind, word },
        }
    }

    /// Returns whether a comma on the command line separates elements.
    pub(crate) const fn is_list(self) -> bool {
        matches!(
            self,
            Self::NameList(_) | Self::FreeNames(_) | Self::Hosts | Self::Flows | Self::Sizes
        )
    }

    /// Reads a value.
    pub(crate) fn read(
        self,
        node: &TomlNode,
        known: &dyn Fn(NameSet) -> Vec<String>,
    ) -> Result<KeyValue, KeyValueError> {
        if self.is_list() {
            return self.read_list(node, known);
        }
        self.read_single(node, known).map(KeyValue::Single)
    }

    fn read_single(
        self,
        node: &TomlNode,
        known: &dyn Fn(NameSet) -> Vec<String>,
    ) -> Result<Value, KeyValueError> {
        let refuse =
            |message: String, help: Option<String>| KeyValueError { message, help, at: node.at };
        let wrong_kind =
            || refuse(format!("this is {}, expected {}", node.kind(), self.describe(known)), None);
        let text = node.scalar().ok_or_else(wrong_kind)?;
        // A number without a unit is still a number here: the parsers of units report the missing
        // unit.
        match self {
            Self::Text => match &node.data {
                TomlData::Text(text) => Ok(Value::Text(text.clone())),
                _ => Err(wrong_kind()),
            },
            Self::Distribution(_) | Self::File if text.is_empty() => {
                Err(refuse(format!("this is not {}", self.describe(known)), None))
            }
            Self::Distribution(_) | Self::File => Ok(Value::Text(text)),
            Self::TimeOrOff | Self::RateOrOff if text == "off" => Ok(Value::Name("off")),
            Self::Bool => match text.as_str() {
                "true" => Ok(Value::Bool(true)),
                "false" => Ok(Value::Bool(false)),
                _ => Err(refuse(format!("`{text}` is neither `true` nor `false`"), None)),
            },
            Self::Count { min, max } => match text.parse::<u64>() {
                Ok(n) if (min..=max).contains(&n) => Ok(Value::Count(n)),
                Ok(_) => Err(refuse(
                    format!("`{text}` is not {}", self.describe(known)),
                    (text == "0").then(|| "the experiment would be empty".into()),
                )),
                Err(_) => Err(refuse(format!("`{text}` is not {}", self.describe(known)), None)),
            },
            Self::CountOrRest { .. } if text == "rest" => Ok(Value::Name("rest")),
            Self::CountOrRest { min, max } => match text.parse::<u64>() {
                Ok(n) if (min..=max).contains(&n) => Ok(Value::Count(n)),
                _ => Err(refuse(
                    format!("`{text}` is not {}", self.describe(known)),
                    (text == "0").then(|| "the experiment would be empty".into()),
                )),
            },
            Self::Time { positive } => time(node, &text, positive).map(Value::Duration),
            Self::TimeOrOff => time(node, &text, true).map(Value::Duration),
            Self::LengthOrUnlimited | Self::Buffer if text == "unlimited" => {
                Ok(Value::Name("unlimited"))
            }
            Self::Buffer if text == "dynamic" => Ok(Value::Name("dynamic")),
            Self::Size => match parse_bytes(&text) {
                Ok(n) if n.as_u64() == 0 => Err(refuse("a size must be above zero".into(), None)),
                Ok(n) => Ok(Value::Bytes(n)),
                Err(e) => Err(unit(node, &e)),
            },
            Self::Rate | Self::RateOrOff => {
                parse_rate(&text).map(Value::Rate).map_err(|e| unit(node, &e))
            }
            Self::Parts { min, max } => match parse_fraction(&text) {
                Ok(parts) if (min..=max).contains(&parts) => Ok(Value::Fraction(parts)),
                Ok(parts) => Err(refuse(format!("{parts} is not {}", self.describe(known)), None)),
                Err(e) => Err(unit(node, &e)),
            },
            Self::Length | Self::LengthOrUnlimited | Self::Buffer => {
                length(node, &text).map(Value::Length)
            }
            Self::Ratio => match Ratio::parse(&text) {
                Some(ratio) => Ok(Value::Ratio(ratio)),
                None => Err(refuse(format!("`{text}` is not {}", self.describe(known)), None)),
            },
            Self::Or { word, .. } if text == word => Ok(Value::Name(word)),
            Self::Or { kind, .. } => Self::of_kind(*kind).read_single(node, known),
            Self::Declared(kind) => {
                kind.parse(&text).map_err(|error| refuse(error.to_string(), None))
            }
            Self::Name(names) => {
                let found = name(node, &text, &known(names))?;
                let fixed = match names {
                    NameSet::Fixed(list) => list.iter().find(|fixed| **fixed == found),
                    _ => None,
                };
                Ok(fixed.map_or_else(|| Value::Text(found.to_owned()), |fixed| Value::Name(fixed)))
            }
            Self::NameList(_) | Self::FreeNames(_) | Self::Hosts | Self::Flows | Self::Sizes => {
                Err(wrong_kind())
            }
        }
    }

    fn read_list(
        self,
        node: &TomlNode,
        known: &dyn Fn(NameSet) -> Vec<String>,
    ) -> Result<KeyValue, KeyValueError> {
        let single = std::slice::from_ref(node);
        let items = match &node.data {
            TomlData::List(items) => items.as_slice(),
            _ => single,
        };
        let mut out: Vec<(String, SourceSpan)> = Vec::new();
        for item in items {
            let number = item.scalar().filter(|_| matches!(self, Self::Flows | Self::Sizes));
            let ((TomlData::Text(text), _) | (_, Some(text))) = (&item.data, &number) else {
                let message = format!("this is {}, expected {}", item.kind(), self.describe(known));
                return Err(KeyValueError { message, help: None, at: item.at });
            };
            if let Self::NameList(names) = self {
                name(item, text, &known(names))?;
            }
            if matches!(self, Self::Sizes) {
                let size = parse_bytes(text).map_err(|e| unit(item, &e))?;
                let before = out.last().and_then(|(t, _)| parse_bytes(t).ok());
                let refuse = |message| Err(KeyValueError { message, help: None, at: item.at });
                match before {
                    None if size.as_u64() == 0 => {
                        return refuse("a size must be above zero".to_owned());
                    }
                    Some(before) if size <= before => {
                        return refuse(format!("{size} is not above {before}, the previous size"));
                    }
                    _ => {}
                }
            }
            if out.iter().any(|(n, _)| n == text) {
                let message = format!("`{text}` is listed twice");
                return Err(KeyValueError { message, help: None, at: item.at });
            }
            out.push((text.clone(), item.at));
        }
        if out.is_empty() && matches!(self, Self::Hosts) {
            let message = "an empty list of hosts".to_owned();
            return Err(KeyValueError { message, help: None, at: node.at });
        }
        Ok(KeyValue::Names(out))
    }
}

fn quoted(names: NameSet, known: &dyn Fn(NameSet) -> Vec<String>) -> String {
    match names {
        NameSet::Traffic => "the traffic groups".into(),
        NameSet::Classes => "the classes of `[switch.class]`".into(),
        _ => known(names).iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", "),
    }
}

fn name<'a>(node: &TomlNode, text: &'a str, known: &[String]) -> Result<&'a str, KeyValueError> {
    if known.iter().any(|k| k == text) {
        return Ok(text);
    }
    let list: Vec<&str> = known.iter().map(String::as_str).collect();
    let message = if known.is_empty() {
        format!("`{text}` is unknown: none are defined")
    } else {
        format!("`{text}` is unknown")
    };
    let (message, help) = unknown(message, text, &list);
    Err(KeyValueError { message, help, at: node.at })
}

fn unit(node: &TomlNode, error: &ParseUnitError) -> KeyValueError {
    KeyValueError { message: error.to_string(), help: None, at: node.at }
}

fn time(node: &TomlNode, text: &str, positive: bool) -> Result<Duration, KeyValueError> {
    let span = match parse_duration(text) {
        // For an overflow, too, the error names the longest accepted time.
        Err(e) if e.is_too_large() => Duration::MAX,
        read => read.map_err(|e| unit(node, &e))?,
    };
    let message = if positive && span == Duration::ZERO {
        "this time must be above zero".to_owned()
    } else if span > MAX_TIME {
        let span = if span == Duration::MAX { "`never`".to_owned() } else { span.to_string() };
        let most = MAX_TIME.as_ms() / 1_000;
        format!("{span} is longer than 24 hours, the longest time of a scenario: \"{most} s\"")
    } else {
        return Ok(span);
    };
    Err(KeyValueError { message, help: None, at: node.at })
}

fn length(node: &TomlNode, text: &str) -> Result<QueueLength, KeyValueError> {
    QueueLength::parse(text).map_err(|e| unit(node, &e))
}
