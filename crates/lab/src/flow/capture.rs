//! Export of a traced flow as a capture file.
//!
//! Contract: packets have full IP and TCP headers, options and ECN bits as at that location. The
//! payload, which the simulator does not have, is truncated: the captured length is below the
//! original one. Timestamps are nanoseconds of virtual time. The comment of a packet tells its
//! later fate. A packet is written when its fate and all earlier packets are known.

use std::collections::BTreeMap;
use std::io::Write;

use lowtide_record::TraceTables;
use lowtide_rows::{TraceHopRow, TraceSegmentRow};
use lowtide_units::Instant;
use lowtide_wire::checksum::Checksum;
use lowtide_wire::pcapng::{InterfaceId, PcapngWriter};

use super::queue_length::BottleneckFinder;
use super::rows_in_order::{TraceRow, rows_in_order};
use super::{FlowHead, FlowTrace, TraceConsumer};
use crate::error::LabError;

/// Location of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Vantage {
    /// Sending host: packets that its TCP sends and receives.
    #[default]
    Sender,
    /// At the receiving host.
    Receiver,
    /// Port at which the data waited longest, except the sending host's: data as it leaves the
    /// port, ACKs as they return over its link.
    Bottleneck,
}

/// Most packets that are awaited; the fate of an older one is taken as final. A packet lost without
/// a record would otherwise hold back all later ones.
const MAX_AWAITED: usize = 1 << 16;
/// Bytes of the file that are collected before they are written.
const CHUNK: usize = 1 << 20;

/// Returns the flow as a pcapng file.
///
/// # Errors
/// The trace has no packet at that location.
pub fn capture(traced: &FlowTrace, vantage: Vantage) -> Result<Vec<u8>, LabError> {
    let head = traced.head();
    let mut port = PortFinder::new(head.flow.flow);
    port.part(&traced.tables, u64::MAX)?;
    let mut out = Vec::new();
    let mut file = CaptureFile::new(&head, vantage, &port, &mut out)?;
    file.part(&traced.tables, u64::MAX)?;
    file.finish()?;
    Ok(out)
}

fn nothing(head: &FlowHead) -> LabError {
    let message = format!("flow {} sent nothing, so there is nothing to show", head.flow.flow);
    LabError::NotFound { message, help: None }
}

/// Finds the port of [`Vantage::Bottleneck`].
pub(super) struct PortFinder {
    flow: u32,
    finder: BottleneckFinder,
}

impl PortFinder {
    pub(super) fn new(flow: u32) -> Self {
        Self { flow, finder: BottleneckFinder::default() }
    }
}

impl TraceConsumer for PortFinder {
    fn part(&mut self, rows: &TraceTables, _until: u64) -> Result<(), LabError> {
        let data = rows.hops.iter().filter(|h| h.flow == self.flow && h.from_sender);
        data.for_each(|hop| self.finder.data(hop));
        Ok(())
    }
}

/// A packet at the location.
struct PacketThere {
    bytes: Vec<u8>,
    payload_bytes: u32,
    retransmission: bool,
    /// Set when the packet is gone.
    fate: Option<String>,
}

impl PacketThere {
    fn of(row: &TraceSegmentRow) -> Self {
        Self {
            bytes: bytes(&row.header),
            payload_bytes: row.len_bytes,
            retransmission: row.retransmission,
            fate: None,
        }
    }
}

/// A packet between its sender and its end.
struct Awaited {
    sent_at: u64,
    /// Its place among the segments, and its packet at the location if that is not the receiver of
    /// the packet.
    row: u64,
    there: Option<PacketThere>,
    fate: Option<String>,
    /// At [`Vantage::Bottleneck`]: progress past the port.
    passage: Passage,
}

/// Passage of a packet over the link of the bottleneck.
#[derive(Clone, Copy)]
enum Passage {
    /// It has not reached the port; whether it has CE.
    Before { ce: bool },
    /// It came over the link towards the port, and its next arrival is its time.
    Towards { ce: bool },
    /// Time at the location.
    At { time: u64, ce: bool },
    /// It was dropped at the port.
    Never,
}

/// A capture that is being written.
pub(super) struct CaptureFile<'o> {
    head: FlowHead,
    /// `sender` or `receiver`; empty at the bottleneck.
    place: &'static str,
    queue: Option<u32>,
    rows: u64,
    awaited: BTreeMap<u64, Awaited>,
    /// Packets that are gone, by time and by place among the segments.
    ready: BTreeMap<(u64, u64), PacketThere>,
    writer: PcapngWriter,
    interface: InterfaceId,
    written: u64,
    out: &'o mut dyn Write,
}

impl<'o> CaptureFile<'o> {
    pub(super) fn new(
        head: &FlowHead,
        vantage: Vantage,
        port: &PortFinder,
        out: &'o mut dyn Write,
    ) -> Result<Self, LabError> {
        let flow = &head.flow;
        let (place, name, queue) = match vantage {
            Vantage::Sender => ("sender", flow.src.to_string(), None),
            Vantage::Receiver => ("receiver", flow.dst.to_string(), None),
            Vantage::Bottleneck => {
                let (queue, name) = port.finder.found().ok_or_else(|| nothing(head))?;
                ("", name.to_string(), Some(queue))
            }
        };
        let mut writer = PcapngWriter::new(&format!("lowtide {}", crate::VERSION));
        let interface = writer.interface(&name);
        Ok(Self {
            head: head.clone(),
            place,
            queue,
            rows: 0,
            awaited: BTreeMap::new(),
            ready: BTreeMap::new(),
            writer,
            interface,
            written: 0,
            out,
        })
    }

    fn segment(&mut self, row: &TraceSegmentRow) {
        self.rows += 1;
        let here = row.place == self.place;
        if row.event == "sent" {
            let there = (here || self.queue.is_some()).then(|| PacketThere::of(row));
            let passage = Passage::Before { ce: false };
            let (sent_at, row_number) = (row.time_ps, self.rows);
            let awaited = Awaited { sent_at, row: row_number, there, fate: None, passage };
            self.awaited.insert(row.packet, awaited);
            if self.awaited.len() > MAX_AWAITED
                && let Some((_, oldest)) = self.awaited.pop_first()
            {
                self.gone(oldest, None);
            }
            return;
        }
        let sent = self.awaited.remove(&row.packet);
        if here {
            let fate = sent.as_ref().and_then(|sent| sent.fate.clone());
            self.ready
                .insert((row.time_ps, self.rows), PacketThere { fate, ..PacketThere::of(row) });
        }
        if let Some(sent) = sent {
            self.gone(sent, Some(row.time_ps));
        }
    }

    fn hop(&mut self, hop: &TraceHopRow) {
        let Some(packet) = hop.packet else { return };
        let Some(sent) = self.awaited.get_mut(&packet) else { return };
        if hop.verdict != "queued" {
            sent.fate = Some(format!("{} at {}", hop.verdict, hop.name));
        }
        let dropped = hop.verdict.starts_with("dropped");
        if let Some(queue) = self.queue {
            sent.passage = sent.passage.hop(hop, queue, dropped);
        }
        if (dropped || hop.verdict == "lost")
            && let Some(sent) = self.awaited.remove(&packet)
        {
            self.gone(sent, None);
        }
    }

    /// Handles a packet that arrived, or is lost.
    fn gone(&mut self, sent: Awaited, arrived: Option<u64>) {
        let Some(mut there) = sent.there else { return };
        let (time, ce) = match (self.queue, sent.passage, arrived) {
            (None, ..) => (sent.sent_at, false),
            (Some(_), Passage::At { time, ce }, _) => (time, ce),
            (Some(_), Passage::Towards { ce }, Some(arrived)) => (arrived, ce),
            _ => return,
        };
        if ce {
            set_ce(&mut there.bytes);
        }
        there.fate = sent.fate;
        self.ready.insert((time, sent.row), there);
    }

    /// Writes the packets before `until` that precede all awaited ones.
    fn write(&mut self, until: u64) -> Result<(), LabError> {
        // A packet passes every location after it was sent.
        let open = self.awaited.first_key_value().map_or(until, |(_, sent)| sent.sent_at);
        let until = until.min(open);
        while let Some(first) = self.ready.first_entry()
            && first.key().0 < until
        {
            let ((at, _), there) = first.remove_entry();
            let whole = there.bytes.len() as u32 + there.payload_bytes;
            let again = there.retransmission.then(|| "retransmission".to_owned());
            let comment: Vec<String> = again.into_iter().chain(there.fate).collect();
            let (at, comment) = (Instant::from_ps(at), comment.join(", "));
            self.writer.packet(self.interface, at, &there.bytes, whole, &comment);
            self.written += 1;
            if self.writer.pending() >= CHUNK {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LabError> {
        self.out.write_all(&self.writer.take()).map_err(LabError::Capture)
    }

    /// Writes what is left.
    pub(super) fn finish(mut self) -> Result<(), LabError> {
        for (_, sent) in std::mem::take(&mut self.awaited) {
            self.gone(sent, None);
        }
        self.write(u64::MAX)?;
        if self.written == 0 {
            return Err(nothing(&self.head));
        }
        self.flush()
    }
}

impl Passage {
    /// Returns the state after the packet has reached the port of `hop`.
    fn hop(self, hop: &TraceHopRow, queue: u32, dropped: bool) -> Self {
        match self {
            // The two directions of a link are the ports 2 i and 2 i + 1.
            Self::Before { .. } if hop.queue | 1 == queue | 1 && dropped => Self::Never,
            Self::Before { ce } => {
                let ce = ce || hop.verdict == "marked";
                if hop.queue == queue {
                    Self::At { time: hop.departure_ps, ce }
                } else if hop.queue == queue ^ 1 {
                    Self::Towards { ce }
                } else {
                    Self::Before { ce }
                }
            }
            Self::Towards { ce } => Self::At { time: hop.time_ps, ce },
            done => done,
        }
    }
}

impl TraceConsumer for CaptureFile<'_> {
    fn part(&mut self, rows: &TraceTables, until: u64) -> Result<(), LabError> {
        rows_in_order(rows, |row| match row {
            TraceRow::Segment(row) => self.segment(row),
            TraceRow::Sender(_) => {}
            TraceRow::Hop(hop) => self.hop(hop),
        });
        self.write(until)
    }
}

/// Decodes hexadecimal text up to the first other character.
fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        hex.chars().map_while(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Sets CE in an IPv4 header (and its checksum) or an IPv6 header.
fn set_ce(header: &mut [u8]) {
    match header.first().map(|first| (first >> 4, usize::from(first & 0xf) * 4)) {
        Some((4, len)) if header.len() >= len && len >= 20 => {
            header[1] |= 3;
            header[10..12].fill(0);
            let sum = Checksum::new().with(&header[..len]).finish();
            header[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        Some((6, _)) if header.len() > 1 => header[1] |= 0x30,
        _ => {}
    }
}
