//! Link types by number (<https://www.tcpdump.org/linktypes.html>).

/// A link type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LinkType(pub i32);

impl LinkType {
    /// Returns the usual name.
    pub fn name(self) -> String {
        let name = match self.0 {
            0 => "loopback (null)",
            108 => "loopback",
            1 => "Ethernet",
            9 | 50 | 204 => "PPP",
            10 => "FDDI",
            12 | 14 | 101 | 228 | 229 => "raw IP",
            51 => "PPPoE",
            100 => "LLC",
            104 => "Cisco HDLC",
            113 => "Linux cooked v1",
            219 => "MPLS",
            276 => "Linux cooked v2",
            other => return format!("link type {other}{}", unread_name(other)),
        };
        name.to_owned()
    }
}

/// Returns the usual name of a link type that is not read, in parentheses.
fn unread_name(link: i32) -> &'static str {
    match link {
        6 => " (Token Ring)",
        105 | 119 | 127 | 163 | 192 => " (IEEE 802.11)",
        107 => " (Frame Relay)",
        117 => " (PF log)",
        123 => " (ATM)",
        147..=162 => " (private use)",
        187 | 201 | 251 | 254 => " (Bluetooth)",
        189 | 220 | 249 => " (USB)",
        195 | 215 | 230 | 283 => " (IEEE 802.15.4)",
        239 => " (Netfilter log)",
        242 | 247 => " (InfiniBand)",
        253 => " (netlink)",
        _ => "",
    }
}
