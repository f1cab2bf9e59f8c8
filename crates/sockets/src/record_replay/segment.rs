//! Text format of a segment: ports, sequence and acknowledgement numbers, flags (hexadecimal),
//! window, urgent pointer, ECN bits, payload length, stamp in ns or `-`, options.

use std::fmt::Write as _;

use lowtide_units::HostStamp;
use lowtide_wire::{Ecn, Experimental, Flags, Options, RxMeta, Segment, SeqNum, Timestamps};

/// Formats `segment`.
pub(super) fn write(segment: &Segment) -> String {
    let s = segment;
    let stamp = s.rx.stamp.map_or_else(|| "-".to_owned(), |stamp| stamp.0.to_string());
    let mut text = format!(
        "{} {} {} {} {:03x} {} {} {} {} {stamp}",
        s.src_port,
        s.dst_port,
        s.seq.raw(),
        s.ack.raw(),
        s.flags.bits(),
        s.window,
        s.urgent,
        s.ecn.bits(),
        s.payload_len,
    );
    let o = &s.options;
    if let Some(ts) = o.timestamps {
        let _ = write!(text, " ts={},{}", ts.value, ts.echo);
    }
    for (start, end) in o.sack.as_slice() {
        let _ = write!(text, " sack={},{}", start.raw(), end.raw());
    }
    if let Some(mss) = o.mss {
        let _ = write!(text, " mss={mss}");
    }
    if let Some(shift) = o.window_scale {
        let _ = write!(text, " scale={shift}");
    }
    if o.sack_permitted {
        text.push_str(" sackok");
    }
    if let Some(e) = o.experimental {
        let _ = write!(text, " exp={}", e.exid);
        for byte in e.as_slice() {
            let _ = write!(text, ",{byte}");
        }
    }
    text
}

/// Parses a segment.
pub(super) fn read<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Segment> {
    let mut word = || words.next();
    let mut segment = Segment {
        src_port: word()?.parse().ok()?,
        dst_port: word()?.parse().ok()?,
        seq: SeqNum::new(word()?.parse().ok()?),
        ack: SeqNum::new(word()?.parse().ok()?),
        flags: Flags::from_bits(u16::from_str_radix(word()?, 16).ok()?),
        window: word()?.parse().ok()?,
        urgent: word()?.parse().ok()?,
        ecn: Ecn::from_bits(word()?.parse().ok()?),
        payload_len: word()?.parse().ok()?,
        options: Options::default(),
        rx: RxMeta::default(),
    };
    let stamp = word()?;
    if stamp != "-" {
        segment.rx.stamp = Some(HostStamp(stamp.parse().ok()?));
    }
    for word in words {
        read_option(word, &mut segment.options)?;
    }
    Some(segment)
}

fn read_option(word: &str, options: &mut Options) -> Option<()> {
    let (kind, value) = word.split_once('=').unwrap_or((word, ""));
    let two = || {
        let (a, b) = value.split_once(',')?;
        Some((a.parse::<u32>().ok()?, b.parse::<u32>().ok()?))
    };
    match kind {
        "ts" => options.timestamps = two().map(|(value, echo)| Timestamps { value, echo }),
        "sack" => {
            let (start, end) = two()?;
            return options.sack.push(SeqNum::new(start), SeqNum::new(end)).then_some(());
        }
        "mss" => options.mss = Some(value.parse().ok()?),
        "scale" => options.window_scale = Some(value.parse().ok()?),
        "sackok" => options.sack_permitted = true,
        "exp" => {
            let mut numbers = value.split(',');
            let exid = numbers.next()?.parse().ok()?;
            let data: Option<Vec<u8>> = numbers.map(|n| n.parse().ok()).collect();
            options.experimental = Some(Experimental::new(exid, &data?)?);
        }
        _ => return None,
    }
    Some(())
}
