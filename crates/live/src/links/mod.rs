//! Interfaces, their addresses and routes, over netlink, without external programs.
//!
//! Contract: a [`Links`] belongs to the network namespace in which its thread was when it was
//! opened, wherever that thread moves. It creates and changes only the named interfaces. Interfaces
//! that it creates are removed with their namespace.

mod addresses;
mod ethtool;
mod netlink;
mod queues;
mod veth;

use std::io;

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoKind, LinkAttribute, LinkFlags, LinkHeader, LinkInfo, LinkLayerType, LinkMessage,
};
use netlink_sys::protocols::{NETLINK_GENERIC, NETLINK_ROUTE};

use crate::error::LiveError;
use netlink::Netlink;
pub use queues::RootQueue;
pub use veth::VethEnd;

/// Link layer of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkLayer {
    /// Ethernet frames (veth, TAP, network cards).
    Ethernet,
    /// Plain IP packets (TUN).
    Ip,
    /// Another link layer, by its number (`ARPHRD_*`).
    Other(u16),
}

/// An interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// Its index in the namespace.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Its link layer.
    pub layer: LinkLayer,
    /// Its MAC address, if it has one.
    pub mac: Option<[u8; 6]>,
    /// Its MTU, bytes.
    pub mtu: u32,
    /// Whether it is up.
    pub up: bool,
    /// Whether it is one end of a veth pair.
    pub veth: bool,
}

impl Link {
    fn of(message: &LinkMessage) -> Self {
        let mut link = Self {
            index: message.header.index,
            name: String::new(),
            layer: match message.header.link_layer_type {
                LinkLayerType::Ether => LinkLayer::Ethernet,
                LinkLayerType::None | LinkLayerType::Rawip => LinkLayer::Ip,
                other => LinkLayer::Other(other.into()),
            },
            mac: None,
            mtu: 0,
            up: message.header.flags.contains(LinkFlags::Up),
            veth: false,
        };
        for attribute in &message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name.clone_from(name),
                LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
                LinkAttribute::Address(bytes) => link.mac = bytes.as_slice().try_into().ok(),
                LinkAttribute::LinkInfo(info) => {
                    link.veth = info.contains(&LinkInfo::Kind(InfoKind::Veth));
                }
                _ => {}
            }
        }
        link
    }
}

/// The interfaces of a namespace.
#[derive(Debug)]
pub struct Links {
    route: Netlink,
    generic: Netlink,
}

impl Links {
    /// Opens the netlink sockets of the namespace of this thread.
    ///
    /// # Errors
    /// The system has no netlink sockets.
    pub fn open() -> Result<Self, LiveError> {
        let open = |protocol| {
            Netlink::open(protocol).map_err(|e| LiveError::system("open a netlink socket", e))
        };
        Ok(Self { route: open(NETLINK_ROUTE)?, generic: open(NETLINK_GENERIC)? })
    }

    fn request(
        &mut self,
        what: impl FnOnce() -> String,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> Result<Vec<RouteNetlinkMessage>, LiveError> {
        self.route.request(message, flags).map_err(|e| LiveError::system(what(), e))
    }

    /// Returns the interface `name`.
    ///
    /// # Errors
    /// [`LiveError::NoInterface`].
    pub fn get(&mut self, name: &str) -> Result<Link, LiveError> {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(name.to_owned()));
        let replies = match self.route.request(RouteNetlinkMessage::GetLink(message), 0) {
            Ok(replies) => replies,
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENODEV)) => {
                return Err(LiveError::NoInterface(name.to_owned()));
            }
            Err(e) => return Err(LiveError::system(format!("look for the interface `{name}`"), e)),
        };
        let link = replies.iter().find_map(|reply| match reply {
            RouteNetlinkMessage::NewLink(link) => Some(Link::of(link)),
            _ => None,
        });
        link.ok_or_else(|| LiveError::NoInterface(name.to_owned()))
    }

    fn set(
        &mut self,
        name: &str,
        what: impl FnOnce() -> String,
        change: impl FnOnce(&mut LinkHeader, &mut Vec<LinkAttribute>),
    ) -> Result<(), LiveError> {
        let mut message = LinkMessage::default();
        message.header.index = self.get(name)?.index;
        change(&mut message.header, &mut message.attributes);
        self.request(what, RouteNetlinkMessage::SetLink(message), 0).map(drop)
    }

    /// Sets an interface up or down.
    ///
    /// # Errors
    /// The interface does not exist, or no permission.
    pub fn set_link_up(&mut self, name: &str, up: bool) -> Result<(), LiveError> {
        let what = || format!("set `{name}` {}", if up { "up" } else { "down" });
        self.set(name, what, |header, _| {
            header.change_mask = LinkFlags::Up;
            header.flags = if up { LinkFlags::Up } else { LinkFlags::empty() };
        })
    }

    /// Limits packets of several segments, as the kernel's stack makes them, to `segments`; with
    /// one it makes none.
    ///
    /// # Errors
    /// The interface does not exist, or no permission.
    pub fn set_gso_max_segments(&mut self, name: &str, segments: u32) -> Result<(), LiveError> {
        let what = || format!("limit the segments of a packet of `{name}`");
        self.set(name, what, |_, attributes| {
            attributes.push(LinkAttribute::GsoMaxSegs(segments));
        })
    }

    /// Removes an interface; for one end of a veth pair, also the other.
    ///
    /// # Errors
    /// The interface does not exist, or no permission.
    pub fn delete(&mut self, name: &str) -> Result<(), LiveError> {
        let mut message = LinkMessage::default();
        message.header.index = self.get(name)?.index;
        let what = || format!("remove `{name}`");
        self.request(what, RouteNetlinkMessage::DelLink(message), 0).map(drop)
    }
}

/// The error of a reply without the requested attribute.
fn missing_attribute() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the kernel's reply lacks the requested attribute")
}
