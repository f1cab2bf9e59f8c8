//! Reads a capture file into the table of connections and counts skipped packets.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use super::capture::{
    CaptureError, CapturePoint, Decoder, Interface, LinkType, Reader, Reassembled, SkipReason,
};
use lowtide_wire::Flags;
use serde::Serialize;

use super::table::ConnectionTable;
use super::tunnels::{TunnelCounts, TunnelSummary};
use super::visibility;
use crate::error::AnalysisError;

/// Interfaces listed.
const MAX_INTERFACES: usize = 256;
/// Protocols listed among those that were skipped.
const MAX_SKIPPED_NAMES: usize = 64;
/// Protocols shown in the text.
const MAX_SKIPPED_SHOWN: usize = 10;

/// Time after the first packet to which later stamps are set, nine years, so that sums and small
/// multiples of times do not overflow.
pub(super) const MAX_SPAN_NS: u64 = 1 << 58;

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
    /// Bytes read from the file, after decompression.
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
    /// Tunnels of the segments.
    pub tunnels: Vec<TunnelSummary>,
    /// IP packets that were put together from fragments.
    pub reassembled: Reassembled,
    /// Segments with options that are missing or malformed.
    pub options_incomplete: u64,
    /// Segments without SYN.
    #[serde(skip)]
    pub(super) non_syn_segments: u64,
    /// Interfaces that the file describes.
    #[serde(skip)]
    pub(super) file_interfaces: Vec<Interface>,
    /// Frames captured without their end.
    pub truncated: u64,
    /// Frames whose stamps are more than nine years after the first, and were set to that.
    pub late_stamps: u64,
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
    /// Fragments of packets that did not become complete, or that overlap.
    pub fragments: u64,
    /// Truncated before the end of the TCP header.
    pub short: u64,
    /// Headers that contradict each other, or are nested too deep.
    pub malformed: u64,
    /// Unknown link type.
    pub unknown_link: u64,
    /// Packets of connections beyond the limit of 100000.
    pub untracked: u64,
    /// Frames by name without `untracked`, the most frequent first; at most 64 names.
    pub names: Vec<SkippedName>,
}

/// Frames that were skipped for one reason.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SkippedName {
    /// Protocol, or reason.
    pub name: String,
    /// Frames.
    pub packets: u64,
}

impl Skipped {
    /// Counts frames by reason.
    fn of(reasons: &BTreeMap<SkipReason, u64>) -> Self {
        let mut out = Self::default();
        let mut names: BTreeMap<String, u64> = BTreeMap::new();
        for (why, packets) in reasons.iter().filter(|(_, n)| **n > 0) {
            *(match why {
                SkipReason::NotIp(_) | SkipReason::OtherLink(_) => &mut out.not_ip,
                SkipReason::NotTcp(_) => &mut out.not_tcp,
                SkipReason::Fragment | SkipReason::OverlappingFragment => &mut out.fragments,
                SkipReason::Truncated => &mut out.short,
                SkipReason::Malformed | SkipReason::TooDeep => &mut out.malformed,
                SkipReason::UnknownLinkType(_) => &mut out.unknown_link,
            }) += packets;
            *names.entry(why.name()).or_default() += packets;
        }
        out.names =
            names.into_iter().map(|(name, packets)| SkippedName { name, packets }).collect();
        out.names.sort_by_key(|s| std::cmp::Reverse(s.packets));
        out.names.truncate(MAX_SKIPPED_NAMES);
        out
    }

    /// Returns the number of all frames that were skipped.
    pub(super) fn all(&self) -> u64 {
        let Self { not_ip, not_tcp, fragments, short, malformed, unknown_link, untracked, .. } =
            self;
        not_ip + not_tcp + fragments + short + malformed + unknown_link + untracked
    }

    /// Returns the counts above zero in words.
    pub(super) fn words(&self) -> Vec<String> {
        let untracked = (self.untracked, "of more connections than are followed");
        let named = self.names.iter().map(|s| (s.packets, s.name.as_str())).chain([untracked]);
        let mut left = self.all();
        let mut words = Vec::new();
        for (n, name) in named.filter(|(n, _)| *n > 0).take(MAX_SKIPPED_SHOWN) {
            left -= n;
            words.push(format!("{} {name}", super::format::grouped(n)));
        }
        words.extend((left > 0).then(|| format!("{} others", super::format::grouped(left))));
        words
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
    let mut skipped: BTreeMap<SkipReason, u64> = BTreeMap::new();
    let mut tunnels = TunnelCounts::default();
    let mut decoder = Decoder::default();
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
        let since = frame.time_ns.saturating_sub(contents.first_ns);
        contents.late_stamps += u64::from(since > MAX_SPAN_NS);
        let time = since.min(MAX_SPAN_NS);
        contents.span_ns = contents.span_ns.max(time);
        links.insert(frame.link_type);
        match decoder.segment(&frame) {
            Ok(seen) => {
                contents.segments += 1;
                let (packet, point) = (&seen.packet, seen.point);
                contents.non_syn_segments += u64::from(!packet.segment.flags.contains(Flags::SYN));
                contents.options_incomplete += u64::from(packet.options_incomplete);
                tunnels.on_segment(&seen);
                if points.len() < MAX_INTERFACES || points.contains_key(&point) {
                    *points.entry(point).or_default() += 1;
                }
                table.on_packet((time, contents.packets), packet, point);
            }
            Err(why) => *skipped.entry(why).or_default() += 1,
        }
    }
    table.finish();
    contents.tunnels = tunnels.summaries();
    contents.reassembled = decoder.reassembled();
    // The last fragment of a packet was counted by the content of the packet.
    if let Some(waiting) = skipped.get_mut(&SkipReason::Fragment) {
        let Reassembled { packets, fragments } = contents.reassembled;
        *waiting = waiting.saturating_sub(fragments - packets);
    }
    contents.skipped = Skipped { untracked: table.untracked, ..Skipped::of(&skipped) };
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
