//! Interface addresses and routes.

use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::address::{
    AddressAttribute, AddressFlags, AddressHeaderFlags, AddressMessage,
};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::Links;
use crate::error::LiveError;

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

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
        message.header.family = family(address);
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

    /// Adds a route to a network (address, prefix length; zero for the default route) by a gateway,
    /// an interface, or both.
    ///
    /// # Errors
    /// The interface does not exist, the route exists already, or no permission.
    pub fn add_route(
        &mut self,
        network: (IpAddr, u8),
        gateway: Option<IpAddr>,
        interface: Option<&str>,
    ) -> Result<(), LiveError> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(network.0);
        message.header.destination_prefix_length = network.1;
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Static;
        message.header.kind = RouteType::Unicast;
        message.header.scope =
            if gateway.is_some() { RouteScope::Universe } else { RouteScope::Link };
        if network.1 > 0 {
            message.attributes.push(RouteAttribute::Destination(network.0.into()));
        }
        if let Some(gateway) = gateway {
            message.attributes.push(RouteAttribute::Gateway(gateway.into()));
        }
        if let Some(name) = interface {
            message.attributes.push(RouteAttribute::Oif(self.get(name)?.index));
        }
        let what = || format!("add a route to {}/{}", network.0, network.1);
        let request = RouteNetlinkMessage::NewRoute(message);
        self.request(what, request, NLM_F_CREATE | NLM_F_EXCL).map(drop)
    }
}
