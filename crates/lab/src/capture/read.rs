//! From a file to the table of connections, with an account of what was left out.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use lowtide_capture::{CaptureError, Interface, Link, Point, Reader, Unread};
use lowtide_wire::Flags;
use serde::Serialize;

use super::table::Table;
use super::visible;
use crate::error::LabError;

/// Interfaces that are listed.
const MOST_INTERFACES: usize = 256;

/// Packets at one interface of the capture.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AtPoint {
    /// Its name, or its number.
    pub name: String,
    /// TCP segments.
    pub segments: u64,
    /// Packets that the capture lost there, where a pcapng file says so.
    pub dropped: Option<u64>,
}

/// What is in a capture file.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Contents {
    /// Frames of any kind.
    pub packets: u64,
    /// TCP segments that were looked at.
    pub segments: u64,
    /// Bytes of the file that were read.
    pub read_bytes: u64,
    /// Stamp of the first packet, nanoseconds since 1970 as the capturing host had it.
    pub first_ns: u64,
    /// From the first to the last packet, nanoseconds.
    pub span_ns: u64,
    /// Link types.
    pub links: Vec<String>,
    /// Interfaces, with VLANs, of the segments; the first 256.
    pub interfaces: Vec<AtPoint>,
    /// Packets that the capture itself lost, where a pcapng file says so.
    pub dropped: Option<u64>,
    /// Segments without SYN.
    #[serde(skip)]
    pub(super) beyond_syn: u64,
    /// What the file says of its interfaces.
    #[serde(skip)]
    pub(super) described: Vec<Interface>,
    /// Frames of which the end was cut off.
    pub cut: u64,
    /// What was not looked at.
    pub skipped: Skipped,
    /// Malformed blocks of pcapng that were left out, and the offset of the first one.
    pub damaged_blocks: u64,
    /// Offset of the first of them.
    pub first_damaged: Option<u64>,
    /// Why the file could not be read to its end.
    pub broken: Option<String>,
}

/// Frames that carry no segment that could be looked at.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Skipped {
    /// No IP.
    pub not_ip: u64,
    /// IP without TCP.
    pub not_tcp: u64,
    /// Fragments.
    pub fragments: u64,
    /// Cut before the end of the TCP header.
    pub short: u64,
    /// Headers that contradict themselves.
    pub malformed: u64,
    /// Of an unknown link type.
    pub unknown_link: u64,
    /// Of connections beyond the 100000 that are followed.
    pub beyond: u64,
}

impl Skipped {
    fn count(&mut self, why: Unread) {
        *(match why {
            Unread::NotIp => &mut self.not_ip,
            Unread::NotTcp => &mut self.not_tcp,
            Unread::Fragment => &mut self.fragments,
            Unread::Short => &mut self.short,
            Unread::Malformed => &mut self.malformed,
            Unread::Link(_) => &mut self.unknown_link,
        }) += 1;
    }

    /// What there is of it, in words.
    pub(super) fn words(&self) -> Vec<String> {
        let named = [
            (self.not_tcp, "no TCP"),
            (self.not_ip, "no IP"),
            (self.fragments, "fragments"),
            (self.short, "cut before the end of their headers"),
            (self.malformed, "malformed"),
            (self.unknown_link, "of an unknown link type"),
            (self.beyond, "of more connections than are followed"),
        ];
        let some = named.into_iter().filter(|(n, _)| *n > 0);
        some.map(|(n, what)| format!("{} {what}", super::words::grouped(n))).collect()
    }
}

/// Reads all of `stream` into `table`.
pub(super) fn through(stream: impl Read, table: &mut Table) -> Result<Contents, LabError> {
    let mut reader = Reader::new(stream)?;
    let mut contents = Contents::default();
    let mut links: BTreeSet<Link> = BTreeSet::new();
    let mut points: BTreeMap<Point, u64> = BTreeMap::new();
    loop {
        let frame = match reader.next_frame() {
            Ok(Some(frame)) => frame,
            Ok(None) => break,
            Err(error) if contents.packets == 0 => return Err(error.into()),
            Err(error) => {
                contents.broken = Some(told(&error));
                break;
            }
        };
        if contents.packets == 0 {
            contents.first_ns = frame.time_ns;
        }
        contents.packets += 1;
        contents.cut += u64::from((frame.data.len() as u64) < u64::from(frame.original_len));
        let time = frame.time_ns.saturating_sub(contents.first_ns);
        contents.span_ns = contents.span_ns.max(time);
        links.insert(frame.link);
        match frame.segment() {
            Ok(seen) => {
                contents.segments += 1;
                contents.beyond_syn += u64::from(!seen.segment.flags.contains(Flags::SYN));
                let point = frame.point();
                if points.len() < MOST_INTERFACES || points.contains_key(&point) {
                    *points.entry(point).or_default() += 1;
                }
                table.on_packet(time, &seen, point);
            }
            Err(why) => contents.skipped.count(why),
        }
    }
    table.finish();
    contents.skipped.beyond = table.beyond;
    contents.segments -= table.beyond;
    contents.links = links.iter().map(|link| link.name()).collect();
    contents.described = reader.interfaces().to_vec();
    let dropped = contents.described.iter().filter_map(|i| i.dropped);
    contents.dropped = dropped.reduce(u64::saturating_add);
    let listed = points.iter().map(|(point, segments)| AtPoint {
        name: visible::name(*point, &contents.described),
        segments: *segments,
        dropped: contents.described.get(point.interface as usize).and_then(|i| i.dropped),
    });
    contents.interfaces = listed.collect();
    (contents.damaged_blocks, contents.first_damaged) = reader.damaged();
    contents.read_bytes = reader.offset();
    Ok(contents)
}

fn told(error: &CaptureError) -> String {
    error.to_string()
}
