//! Reasons why a frame gives no segment, with the names of protocols.

use super::link_type::LinkType;

/// The reason why a frame gives no TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SkipReason {
    /// The frame carries no IP but this EtherType.
    NotIp(u16),
    /// The frame carries another protocol without an EtherType.
    OtherLink(&'static str),
    /// The frame carries IP and this protocol.
    NotTcp(u8),
    /// The frame carries a fragment of an IP packet that is not complete yet.
    Fragment,
    /// The frame carries a fragment that overlaps another one (RFC 5722), or whose length and
    /// offset are impossible.
    OverlappingFragment,
    /// Headers are nested deeper than they are followed.
    TooDeep,
    /// Too few bytes of the frame were captured.
    Truncated,
    /// The headers contradict each other.
    Malformed,
    /// The link type is not known.
    UnknownLinkType(i32),
}

impl SkipReason {
    /// Returns the usual name of the protocol, or the reason.
    pub fn name(self) -> String {
        match self {
            Self::NotIp(kind) => match ethertype_name(kind) {
                Some(name) => name.to_owned(),
                None => format!("EtherType 0x{kind:04x}"),
            },
            Self::NotTcp(protocol) => match ip_protocol_name(protocol) {
                Some(name) => name.to_owned(),
                None => format!("IP protocol {protocol}"),
            },
            Self::OtherLink(name) => name.to_owned(),
            Self::Fragment => "fragments without the rest of their packets".to_owned(),
            Self::OverlappingFragment => "fragments that overlap or are impossible".to_owned(),
            Self::TooDeep => "nested too deep".to_owned(),
            Self::Truncated => "cut before the end of their headers".to_owned(),
            Self::Malformed => "with lengths that contradict each other".to_owned(),
            Self::UnknownLinkType(link) => {
                format!("of a link type that is not read: {}", LinkType(link).name())
            }
        }
    }
}

/// EtherTypes of <https://www.iana.org/assignments/ieee-802-numbers>.
fn ethertype_name(kind: u16) -> Option<&'static str> {
    Some(match kind {
        0x0806 => "ARP",
        0x8035 => "RARP",
        0x8100 | 0x88a8 | 0x9100 => "VLAN tags without end",
        0x8137 => "IPX",
        0x8808 => "PAUSE and PFC",
        0x8809 => "LACP and other slow protocols",
        0x8863 => "PPPoE discovery",
        0x888e => "IEEE 802.1X",
        0x88cc => "LLDP",
        0x88e5 => "MACsec, encrypted",
        0x88f7 => "PTP",
        0x8906 | 0x8914 => "FCoE",
        0x8915 => "RoCE",
        0x894f => "NSH",
        0x9000 => "loopback test",
        _ => return None,
    })
}

/// Protocols of <https://www.iana.org/assignments/protocol-numbers>.
fn ip_protocol_name(protocol: u8) -> Option<&'static str> {
    Some(match protocol {
        1 => "ICMP",
        2 => "IGMP",
        17 => "UDP",
        33 => "DCCP",
        46 => "RSVP",
        50 => "ESP, encrypted",
        58 => "ICMPv6",
        59 => "IPv6 without payload",
        88 => "EIGRP",
        89 => "OSPF",
        103 => "PIM",
        112 => "VRRP",
        115 => "L2TPv3",
        132 => "SCTP",
        136 => "UDP-Lite",
        _ => return None,
    })
}
