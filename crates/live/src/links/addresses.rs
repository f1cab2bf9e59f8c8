//! Interface addresses and routes.

use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::address::{
    AddressAttribute, AddressFlags, AddressHeaderFlags, AddressMessage,
};
use netlink_packet_route::route::{
    RouteAttribute, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
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
    /// Adds a route to one host over an interface, in the main table. `initial_window` is in
    /// segments; the kernel chooses without one.
    ///
    /// # Errors
    /// The interface does not exist, or there is such a route; no permission.
    pub fn add_host_route(
        &mut self,
        name: &str,
        to: IpAddr,
        initial_window: Option<u32>,
    ) -> Result<(), LiveError> {
        const MAIN_TABLE: u8 = 254;
        let mut message = RouteMessage::default();
        let header = &mut message.header;
        (header.address_family, header.destination_prefix_length) = match to {
            IpAddr::V4(_) => (AddressFamily::Inet, 32),
            IpAddr::V6(_) => (AddressFamily::Inet6, 128),
        };
        (header.table, header.protocol) = (MAIN_TABLE, RouteProtocol::Static);
        (header.scope, header.kind) = (RouteScope::Link, RouteType::Unicast);
        message.attributes.push(RouteAttribute::Destination(to.into()));
        message.attributes.push(RouteAttribute::Oif(self.get(name)?.index));
        if let Some(window) = initial_window {
            let metrics = vec![RouteMetric::InitCwnd(window)];
            message.attributes.push(RouteAttribute::Metrics(metrics));
        }
        let what = || format!("route {to} over `{name}`");
        let request = RouteNetlinkMessage::NewRoute(message);
        self.request(what, request, NLM_F_CREATE | NLM_F_EXCL).map(drop)
    }
}
