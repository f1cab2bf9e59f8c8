//! The version of IP, and the lengths that follow from it.

/// The version of IP that carries a connection.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum IpVersion {
    /// IPv4, without options.
    #[default]
    V4,
    /// IPv6, without extension headers.
    V6,
}

impl IpVersion {
    /// Bytes of the fixed header.
    #[inline]
    pub const fn header_len(self) -> u32 {
        match self {
            Self::V4 => 20,
            Self::V6 => 40,
        }
    }

    /// Bytes of the fixed headers of IP and TCP: MTU minus MSS (RFC 9293 §3.7.1).
    #[inline]
    pub const fn headers_len(self) -> u32 {
        self.header_len() + 20
    }

    /// The MSS of a peer that sends no MSS option (RFC 9293 §3.7.1, MUST-15).
    #[inline]
    pub const fn default_mss(self) -> u16 {
        match self {
            Self::V4 => 536,
            Self::V6 => 1220,
        }
    }
}
