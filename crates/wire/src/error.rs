//! Errors of reading and writing packets.

use core::fmt;

/// A header that this crate reads and writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderKind {
    /// IPv4 (RFC 791).
    Ipv4,
    /// IPv6 (RFC 8200).
    Ipv6,
    /// An extension header of IPv6 (RFC 8200 §4).
    Ipv6Extension,
    /// TCP (RFC 9293).
    Tcp,
}

impl fmt::Display for HeaderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
            Self::Ipv6Extension => "IPv6 extension",
            Self::Tcp => "TCP",
        })
    }
}

/// Reason why bytes were rejected, or a segment cannot be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WireError {
    /// Fewer bytes than the header needs.
    Truncated {
        /// The truncated header.
        header: HeaderKind,
        /// Bytes needed.
        need: usize,
        /// Bytes available.
        have: usize,
    },
    /// The version field names another protocol.
    Version {
        /// The version found: four bits.
        found: u8,
    },
    /// The header states a length below that of its fixed part, in bytes.
    HeaderLength {
        /// The header.
        header: HeaderKind,
        /// The length it states.
        stated: usize,
    },
    /// The packet states more bytes than available, or fewer than its own header has.
    TotalLength {
        /// The IP header.
        header: HeaderKind,
        /// The length it states, header included.
        stated: usize,
        /// Bytes available.
        have: usize,
    },
    /// A fragment; lowtide does not reassemble.
    Fragment,
    /// A hop-by-hop header that does not directly follow the IPv6 header.
    ExtensionOrder,
    /// A routing header that asks this host to forward the packet (RFC 8200 §4.4).
    SegmentsLeft {
        /// Number of segments.
        left: u8,
    },
    /// An unknown option in an IPv6 extension header that a host must not skip (RFC 8200 §4.2).
    ExtensionOption {
        /// The kind.
        kind: u8,
    },
    /// An option that runs past the end of its IPv6 extension header.
    ExtensionOptionTruncated {
        /// The kind.
        kind: u8,
    },
    /// More or longer IPv6 extension headers than this crate walks.
    ExtensionsTooLong {
        /// Minimum number of headers.
        headers: usize,
        /// Their bytes.
        bytes: usize,
    },
    /// The payload is not TCP, or follows an unsupported IPv6 header (AH, ESP).
    NotTcp {
        /// The protocol number, or the "next header" of IPv6.
        protocol: u8,
    },
    /// A checksum does not match.
    Checksum {
        /// The header that contains it.
        header: HeaderKind,
    },
    /// An option with a length byte that its kind cannot have (0 and 1 always).
    OptionLength {
        /// The kind.
        kind: u8,
        /// The length byte.
        len: u8,
    },
    /// An option that runs past the end of the header.
    OptionTruncated {
        /// The kind.
        kind: u8,
    },
    /// The options need more than the 40 bytes available in a TCP header.
    OptionsTooLong {
        /// Bytes needed.
        len: usize,
    },
    /// An experimental option that states more bytes than it holds.
    ExperimentalTooLong {
        /// Bytes stated.
        len: u8,
    },
    /// The packet is too long for its length field.
    PacketTooLong {
        /// The IP header.
        header: HeaderKind,
        /// Bytes of payload.
        payload: usize,
    },
    /// The payload length differs from that of the segment.
    PayloadLength {
        /// `payload_len` of the segment.
        stated: u32,
        /// Bytes given.
        given: usize,
    },
    /// The buffer given is too small for the packet.
    BufferTooSmall {
        /// Bytes needed.
        need: usize,
        /// Bytes given.
        have: usize,
    },
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { header, need, have } => {
                write!(f, "{header} header cut short: {need} bytes needed, {have} there")
            }
            Self::Version { found } => write!(f, "IP version {found} where another is expected"),
            Self::HeaderLength { header, stated } => {
                write!(f, "{header} header states a length of {stated} bytes, below its minimum")
            }
            Self::TotalLength { header, stated, have } => {
                write!(f, "{header} packet states a length of {stated} bytes, {have} are there")
            }
            Self::Fragment => f.write_str("IP fragment, which is not reassembled"),
            Self::ExtensionOrder => f.write_str("IPv6 hop-by-hop header after another header"),
            Self::SegmentsLeft { left } => {
                write!(f, "IPv6 routing header with {left} segments left")
            }
            Self::ExtensionOption { kind } => {
                write!(f, "IPv6 option of kind {kind} is unknown and must not be skipped")
            }
            Self::ExtensionOptionTruncated { kind } => {
                write!(f, "IPv6 option of kind {kind} runs past the end of its header")
            }
            Self::ExtensionsTooLong { headers, bytes } => {
                write!(f, "{headers} IPv6 extension headers of {bytes} bytes are too many")
            }
            Self::NotTcp { protocol } => write!(f, "IP protocol {protocol} is not TCP"),
            Self::Checksum { header } => write!(f, "{header} checksum does not match"),
            Self::OptionLength { kind, len } => {
                write!(f, "TCP option of kind {kind} with the impossible length {len}")
            }
            Self::OptionTruncated { kind } => {
                write!(f, "TCP option of kind {kind} runs past the end of the header")
            }
            Self::OptionsTooLong { len } => {
                write!(f, "TCP options need {len} bytes, a header has room for 40")
            }
            Self::ExperimentalTooLong { len } => {
                write!(f, "experimental TCP option states {len} bytes, it can hold 12")
            }
            Self::PacketTooLong { header, payload } => {
                write!(f, "{payload} bytes of payload do not fit into one {header} packet")
            }
            Self::PayloadLength { stated, given } => {
                write!(f, "segment states {stated} bytes of payload, {given} were given")
            }
            Self::BufferTooSmall { need, have } => {
                write!(f, "packet of {need} bytes does not fit into a buffer of {have}")
            }
        }
    }
}

impl core::error::Error for WireError {}
