//! Interface addresses.

use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::address::{
    AddressAttribute, AddressFlags, AddressHeaderFlags, AddressMessage,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::Links;
use crate::error::LiveError;

impl Links {
    /// Adds an address to an interface, and the route to its network of `prefix` bits. An IPv6
    /// address is usable at once, without duplicate address detection.
    ///
    /// # Errors
    /// The interface does not exist or has the address already; no permission.
    pub fn add_address(
        &mut self,
        name: &str,
        address: IpAddr,
        prefix: u8,
    ) -> Result<(), LiveError> {
        let mut message = AddressMessage::default();
        message.header.family =
            if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
        message.header.prefix_len = prefix;
        message.header.index = self.get(name)?.index;
        message.attributes.push(AddressAttribute::Local(address));
        message.attributes.push(AddressAttribute::Address(address));
        if address.is_ipv6() {
            message.header.flags = AddressHeaderFlags::Nodad;
            message.attributes.push(AddressAttribute::Flags(AddressFlags::Nodad));
        }
        let what = || format!("give `{name}` the address {address}/{prefix}");
        let request = RouteNetlinkMessage::NewAddress(message);
        self.request(what, request, NLM_F_CREATE | NLM_F_EXCL).map(drop)
    }
}
