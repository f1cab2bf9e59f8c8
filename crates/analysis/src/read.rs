//! Reads a capture file into the table of connections and counts skipped packets.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use super::capture::{CaptureError, CapturePoint, Interface, LinkType, Reader, SkipReason};
use lowtide_wire::Flags;
use serde::Serialize;

use super::table::ConnectionTable;
use super::visibility;
use crate::error::AnalysisError;

/// Interfaces listed.
const MAX_INTERFACES: usize = 256;

/// Packets on one interface of the capture.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct InterfaceSummary {
    /// Name, or number.
    pub name: String,
    /// TCP segments.
    pub segments: u64,
    /// Packets that the capture lost on this interface, if a pcapng file states it.
    pub dropped: Option<u64>,
}

/// Contents of a capture file.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Contents {
    /// Frames of any kind.
    pub packets: u64,
    /// TCP segments that were analysed.
    pub segments: u64,
    /// Bytes read from the file.
    pub read_bytes: u64,
    /// Timestamp of the first packet, nanoseconds since 1970 by the capturing host's clock.
    pub first_ns: u64,
    /// Time from the first to the last packet, nanoseconds.
    pub span_ns: u64,
    /// Link types.
    pub links: Vec<String>,
    /// Interfaces, with VLANs, of the segments; at most 256.
    pub interfaces: Vec<InterfaceSummary>,
    /// Packets that the capture lost, if a pcapng file states it.
    pub dropped: Option<u64>,
    /// Segments without SYN.
    #[serde(skip)]
    pub(super) non_syn_segments: u64,
    /// Interfaces that the file describes.
    #[serde(skip)]
    pub(super) file_interfaces: Vec<Interface>,
    /// Frames captured without their end.
    pub truncated: u64,
    /// Frames that were not analysed.
    pub skipped: Skipped,
    /// Malformed pcapng blocks that were skipped.
    pub damaged_blocks: u64,
    /// Offset of the first malformed block in the file, bytes.
    pub first_damaged: Option<u64>,
    /// The reason why the file could not be read to its end.
    pub broken: Option<String>,
}

/// Frames without a segment that could be analysed, by reason.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Skipped {
    /// No IP.
    pub not_ip: u64,
    /// IP without TCP.
    pub not_tcp: u64,
    /// Fragments.
    pub fragments: u64,
    /// Truncated before the end of the TCP header.
    pub short: u64,
    /// Headers that contradict each other.
    pub malformed: u64,
    /// Unknown link type.
    pub unknown_link: u64,
    /// Packets of connections beyond the limit of 100000.
    pub untracked: u64,
}

impl Skipped {
    fn count(&mut self, why: SkipReason) {
        *(match why {
            SkipReason::NotIp => &mut self.not_ip,
            SkipReason::NotTcp => &mut self.not_tcp,
            SkipReason::Fragment => &mut self.fragments,
            SkipReason::Truncated => &mut self.short,
            SkipReason::Malformed => &mut self.malformed,
            SkipReason::UnknownLinkType(_) => &mut self.unknown_link,
        }) += 1;
    }

    /// Returns the counts above zero in words.
    pub(super) fn words(&self) -> Vec<String> {
        let named = [
            (self.not_tcp, "no TCP"),
            (self.not_ip, "no IP"),
            (self.fragments, "fragments"),
            (self.short, "cut before the end of their headers"),
            (self.malformed, "malformed"),
            (self.unknown_link, "of an unknown link type"),
            (self.untracked, "of more connections than are followed"),
        ];
        let some = named.into_iter().filter(|(n, _)| *n > 0);
        some.map(|(n, what)| format!("{} {what}", super::format::grouped(n))).collect()
    }
}

/// Reads all of `stream` into `table`.
pub(super) fn read_into(
    stream: impl Read,
    table: &mut ConnectionTable,
) -> Result<Contents, AnalysisError> {
    let mut reader = Reader::new(stream)?;
    let mut contents = Contents::default();
    let mut links: BTreeSet<LinkType> = BTreeSet::new();
    let mut points: BTreeMap<CapturePoint, u64> = BTreeMap::new();
    loop {
        let frame = match reader.next_frame() {
            Ok(Some(frame)) => frame,
            Ok(None) => break,
            Err(error) if contents.packets == 0 => return Err(error.into()),
            Err(error) => {
                contents.broken = Some(error_text(&error));
                break;
            }
        };
        if contents.packets == 0 {
            contents.first_ns = frame.time_ns;
        }
        contents.packets += 1;
        contents.truncated += u64::from((frame.data.len() as u64) < u64::from(frame.original_len));
        let time = frame.time_ns.saturating_sub(contents.first_ns);
        contents.span_ns = contents.span_ns.max(time);
        links.insert(frame.link_type);
        match frame.segment() {
            Ok(seen) => {
                contents.segments += 1;
                contents.non_syn_segments += u64::from(!seen.segment.flags.contains(Flags::SYN));
                let point = frame.point();
                if points.len() < MAX_INTERFACES || points.contains_key(&point) {
                    *points.entry(point).or_default() += 1;
                }
                table.on_packet(time, &seen, point);
            }
            Err(why) => contents.skipped.count(why),
        }
    }
    table.finish();
    contents.skipped.untracked = table.untracked;
    contents.segments -= table.untracked;
    contents.links = links.iter().map(|link| link.name()).collect();
    contents.file_interfaces = reader.interfaces().to_vec();
    let dropped = contents.file_interfaces.iter().filter_map(|i| i.dropped);
    contents.dropped = dropped.reduce(u64::saturating_add);
    let listed = points.iter().map(|(point, segments)| InterfaceSummary {
        name: visibility::point_name(*point, &contents.file_interfaces),
        segments: *segments,
        dropped: contents.file_interfaces.get(point.interface as usize).and_then(|i| i.dropped),
    });
    contents.interfaces = listed.collect();
    (contents.damaged_blocks, contents.first_damaged) = reader.damaged();
    contents.read_bytes = reader.offset();
    Ok(contents)
}

fn error_text(error: &CaptureError) -> String {
    error.to_string()
}
