//! The fields of a segment by name.

use lowtide_schema::UnknownName;
use lowtide_tcp::wire::{Options, SackBlocks, Segment, SeqNum, Timestamps};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::misuse::Misuse;
use super::values::{ecn, flags, text, whole};

const NAMES: [&str; 13] = [
    "seq",
    "ack",
    "flags",
    "window",
    "payload_len",
    "ecn",
    "mss",
    "window_scale",
    "sack_permitted",
    "sack",
    "timestamps",
    "src_port",
    "dst_port",
];
/// Payload bytes that fit into an IPv4 packet.
const MAX_PAYLOAD: u64 = 65_535 - 40;

/// Returns `segment` with the fields of `changes`.
pub(super) fn changed(segment: &Segment, changes: &Bound<'_, PyDict>) -> Result<Segment, Misuse> {
    let mut segment = *segment;
    for (name, value) in changes {
        set(&mut segment, &name.to_string(), &value)?;
    }
    let len = segment.options.wire_len();
    if len > 40 {
        let message = format!("the options take {len} bytes of the header");
        return Err(Misuse::new(message, "40 bytes are possible: use fewer options"));
    }
    Ok(segment)
}

fn set(segment: &mut Segment, name: &str, value: &Bound<'_, PyAny>) -> Result<(), Misuse> {
    match name {
        "seq" => segment.seq = number(name, value).map(SeqNum::new)?,
        "ack" => segment.ack = number(name, value).map(SeqNum::new)?,
        "flags" => segment.flags = flags(&names(value)?)?,
        "window" => segment.window = short(name, value)?,
        "payload_len" => segment.payload_len = whole(name, value, MAX_PAYLOAD)? as u32,
        "ecn" => segment.ecn = ecn(&text(name, value)?)?,
        "src_port" => segment.src_port = short(name, value)?,
        "dst_port" => segment.dst_port = short(name, value)?,
        _ => set_option(&mut segment.options, name, value)?,
    }
    Ok(())
}

fn set_option(options: &mut Options, name: &str, value: &Bound<'_, PyAny>) -> Result<(), Misuse> {
    let present = (!value.is_none()).then_some(value);
    match name {
        "mss" => options.mss = present.map(|value| short(name, value)).transpose()?,
        "window_scale" => {
            let scale = present.map(|value| whole(name, value, u64::from(u8::MAX)));
            options.window_scale = scale.transpose()?.map(|scale| scale as u8);
        }
        "sack_permitted" => {
            let wrong = |_| Misuse::of(format!("sack_permitted is {value}: it must be a bool"));
            options.sack_permitted = value.extract().map_err(wrong)?;
        }
        "timestamps" => {
            let pair = |value| {
                let [value, echo] = items(name, value, "a pair (value, echo)")?;
                Ok(Timestamps { value: number(name, &value)?, echo: number(name, &echo)? })
            };
            options.timestamps = present.map(pair).transpose()?;
        }
        "sack" => {
            options.sack = SackBlocks::EMPTY;
            for block in list(name, value, "a list of pairs (start, end)")? {
                let [start, end] = items(name, &block, "a list of pairs (start, end)")?;
                let (start, end) = (number(name, &start)?, number(name, &end)?);
                if !options.sack.push(SeqNum::new(start), SeqNum::new(end)) {
                    return Err(Misuse::of("sack has more than 4 blocks"));
                }
            }
        }
        _ => {
            let unknown = UnknownName::new("field", name, NAMES.map(str::to_owned).to_vec());
            return Err(Misuse::new(unknown, format!("a segment has {}", NAMES.join(", "))));
        }
    }
    Ok(())
}

fn number(name: &str, value: &Bound<'_, PyAny>) -> Result<u32, Misuse> {
    whole(name, value, u64::from(u32::MAX)).map(|number| number as u32)
}

fn short(name: &str, value: &Bound<'_, PyAny>) -> Result<u16, Misuse> {
    whole(name, value, u64::from(u16::MAX)).map(|number| number as u16)
}

fn list<'py>(
    name: &str,
    value: &Bound<'py, PyAny>,
    wanted: &str,
) -> Result<Vec<Bound<'py, PyAny>>, Misuse> {
    value.extract().map_err(|_| Misuse::of(format!("{name} is {value}: it must be {wanted}")))
}

fn items<'py, const N: usize>(
    name: &str,
    value: &Bound<'py, PyAny>,
    wanted: &str,
) -> Result<[Bound<'py, PyAny>; N], Misuse> {
    let wrong = |_| Misuse::of(format!("{name} is {value}: it must be {wanted}"));
    list(name, value, wanted)?.try_into().map_err(wrong)
}

/// Names of control bits: text, or a sequence of texts.
fn names(value: &Bound<'_, PyAny>) -> Result<String, Misuse> {
    let joined =
        value.extract::<String>().or_else(|_| Ok(value.extract::<Vec<String>>()?.join(" ")));
    let wanted = "it must be the names of control bits, as \"SYN ACK\"";
    joined.map_err(|_: PyErr| Misuse::of(format!("flags is {value}: {wanted}")))
}
