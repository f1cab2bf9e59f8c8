//! The TCP header (RFC 9293 §3.1).
//!
//! Contract: the checksum is verified on input and computed on output. All nine control bits pass,
//! AE included; the three reserved bits are ignored on input (RFC 9293 §3.1) and sent as zero. TCP
//! does not see the IP header: [`parse`] leaves `ecn` at its default, [`crate::packet`] fills it
//! in.

use core::ops::Range;

use crate::checksum::Checksum;
use crate::error::{HeaderKind, WireError};
use crate::{Addresses, Ecn, Flags, Options, RxMeta, Segment, SeqNum, options};

/// The IP protocol number of TCP.
pub const PROTOCOL: u8 = 6;
/// Length in bytes of a header without options.
pub const MIN_HEADER_LEN: usize = 20;
/// Maximum length in bytes of a header.
pub const MAX_HEADER_LEN: usize = MIN_HEADER_LEN + options::MAX_LEN;

/// Offset of the checksum in a header.
pub(crate) const CHECKSUM: usize = 16;

impl Addresses {
    /// The sum of the pseudo header for `tcp_len` bytes of TCP, header included (RFC 9293 §3.1, RFC
    /// 8200 §8.1).
    pub fn pseudo_header(&self, tcp_len: u32) -> Checksum {
        let sum = match self {
            Self::V4 { src, dst } => Checksum::new().with(&src.octets()).with(&dst.octets()),
            Self::V6 { src, dst } => Checksum::new().with(&src.octets()).with(&dst.octets()),
        };
        sum.with_u32(u32::from(PROTOCOL)).with_u32(tcp_len)
    }
}

/// Reads the segment that fills `bytes`, header and payload; the range is that of the payload.
///
/// # Errors
/// A truncated header or one with an impossible length, a wrong checksum, a malformed option.
pub fn parse(bytes: &[u8], addresses: &Addresses) -> Result<(Segment, Range<usize>), WireError> {
    let range = payload_of(bytes)?;
    let header = HeaderKind::Tcp;
    // No IP packet is this long; it would not fit the pseudo header.
    let too_long = |_| WireError::PacketTooLong { header, payload: bytes.len() };
    let tcp_len = u32::try_from(bytes.len()).map_err(too_long)?;
    if addresses.pseudo_header(tcp_len).with(bytes).finish() != 0 {
        return Err(WireError::Checksum { header });
    }
    segment_of(bytes, range)
}

/// As [`parse`], without checking the checksum.
pub(crate) fn parse_without_checksum(bytes: &[u8]) -> Result<(Segment, Range<usize>), WireError> {
    segment_of(bytes, payload_of(bytes)?)
}

/// Range of the payload according to the header.
fn payload_of(bytes: &[u8]) -> Result<Range<usize>, WireError> {
    let have = bytes.len();
    let header = HeaderKind::Tcp;
    let Some(fixed) = bytes.first_chunk::<MIN_HEADER_LEN>() else {
        return Err(WireError::Truncated { header, need: MIN_HEADER_LEN, have });
    };
    let header_len = usize::from(fixed[12] >> 4) * 4;
    if header_len < MIN_HEADER_LEN {
        return Err(WireError::HeaderLength { header, stated: header_len });
    }
    if header_len > have {
        return Err(WireError::Truncated { header, need: header_len, have });
    }
    Ok(header_len..have)
}

/// The segment whose payload is at `payload`, as returned by [`payload_of`].
fn segment_of(bytes: &[u8], payload: Range<usize>) -> Result<(Segment, Range<usize>), WireError> {
    let header = HeaderKind::Tcp;
    let too_long = |_| WireError::PacketTooLong { header, payload: payload.len() };
    let payload_len = u32::try_from(payload.len()).map_err(too_long)?;
    let (need, have) = (payload.start, bytes.len());
    let fixed = bytes.first_chunk().ok_or(WireError::Truncated { header, need, have })?;
    let options = bytes.get(MIN_HEADER_LEN..payload.start).unwrap_or(&[]);
    let segment = Segment { options: Options::parse(options)?, ..fields(fixed, payload_len) };
    Ok((segment, payload))
}

/// The fixed part of a header as a segment without options.
pub(crate) fn fields(fixed: &[u8; MIN_HEADER_LEN], payload_len: u32) -> Segment {
    Segment {
        src_port: u16::from_be_bytes([fixed[0], fixed[1]]),
        dst_port: u16::from_be_bytes([fixed[2], fixed[3]]),
        seq: SeqNum::new(u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]])),
        ack: SeqNum::new(u32::from_be_bytes([fixed[8], fixed[9], fixed[10], fixed[11]])),
        flags: Flags::from_bits(u16::from_be_bytes([fixed[12], fixed[13]])),
        window: u16::from_be_bytes([fixed[14], fixed[15]]),
        urgent: u16::from_be_bytes([fixed[18], fixed[19]]),
        ecn: Ecn::default(),
        payload_len,
        options: Options::default(),
        rx: RxMeta::default(),
    }
}

/// Writes header and payload to the start of `out` and returns their length in bytes.
///
/// # Errors
/// Options that do not fit into the header, a payload of another length than the segment states, or
/// an `out` that is too small. Nothing is written then.
pub fn emit(
    segment: &Segment,
    payload: &[u8],
    addresses: &Addresses,
    out: &mut [u8],
) -> Result<usize, WireError> {
    let (header, len) = emit_header(segment, Checksum::new().with(payload), addresses)?;
    assemble(&header[..len], segment, payload, out)
}

/// Writes `headers`, then the payload of `segment`.
pub(crate) fn assemble(
    headers: &[u8],
    segment: &Segment,
    payload: &[u8],
    out: &mut [u8],
) -> Result<usize, WireError> {
    if usize::try_from(segment.payload_len) != Ok(payload.len()) {
        let (stated, given) = (segment.payload_len, payload.len());
        return Err(WireError::PayloadLength { stated, given });
    }
    let need = headers.len() + payload.len();
    let have = out.len();
    let room = out.get_mut(..need).and_then(|out| out.split_at_mut_checked(headers.len()));
    let (head, body) = room.ok_or(WireError::BufferTooSmall { need, have })?;
    head.copy_from_slice(headers);
    body.copy_from_slice(payload);
    Ok(need)
}

/// The bytes of the header and its length, given the sum of the payload.
pub(crate) fn emit_header(
    segment: &Segment,
    payload: Checksum,
    addresses: &Addresses,
) -> Result<([u8; MAX_HEADER_LEN], usize), WireError> {
    let mut out = [0; MAX_HEADER_LEN];
    let mut option_bytes = [0; options::MAX_LEN];
    let header_len = MIN_HEADER_LEN + segment.options.emit(&mut option_bytes)?;
    #[expect(clippy::cast_possible_truncation, reason = "a header has at most 60 bytes")]
    let offset = (header_len as u16 / 4) << 12;
    out[0..2].copy_from_slice(&segment.src_port.to_be_bytes());
    out[2..4].copy_from_slice(&segment.dst_port.to_be_bytes());
    out[4..8].copy_from_slice(&segment.seq.raw().to_be_bytes());
    out[8..12].copy_from_slice(&segment.ack.raw().to_be_bytes());
    out[12..14].copy_from_slice(&(offset | segment.flags.bits()).to_be_bytes());
    out[14..16].copy_from_slice(&segment.window.to_be_bytes());
    out[18..20].copy_from_slice(&segment.urgent.to_be_bytes());
    out[MIN_HEADER_LEN..].copy_from_slice(&option_bytes);
    let too_long = WireError::PacketTooLong {
        header: HeaderKind::Tcp,
        payload: usize::try_from(segment.payload_len).unwrap_or(usize::MAX),
    };
    let tcp_len = u32::try_from(header_len).ok().and_then(|n| n.checked_add(segment.payload_len));
    let sum = addresses.pseudo_header(tcp_len.ok_or(too_long)?);
    // Unused option space is zero and adds nothing to the sum.
    let checksum = sum.with(&out).with_sum(payload).finish();
    out[16..18].copy_from_slice(&checksum.to_be_bytes());
    Ok((out, header_len))
}
