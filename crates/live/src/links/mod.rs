//! Interfaces, their addresses and routes, over netlink: nothing else is called or has to be installed.
//!
//! Contract: a [`Links`] speaks of the network namespace in which its thread was when it was opened, and goes on to
//! do so wherever that thread goes. It makes and changes only what it is told to. Interfaces that it makes are gone
//! with their namespace.

mod addresses;
mod ethtool;
mod netlink;
mod veth;

use std::io;

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    LinkAttribute, LinkFlags, LinkHeader, LinkLayerType, LinkMessage,
};
use netlink_sys::protocols::{NETLINK_GENERIC, NETLINK_ROUTE};

use crate::error::LiveError;
use netlink::Netlink;
pub use veth::VethEnd;

/// What packets look like on an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkLayer {
    /// Ethernet frames (veth, TAP, network cards).
    Ethernet,
    /// IP packets as they are (TUN).
    Ip,
    /// Something else, by its number (`ARPHRD_*`).
    Other(u16),
}

/// An interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// Its number in the namespace.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// What is on its line.
    pub layer: LinkLayer,
    /// Its Ethernet address, where it has one.
    pub mac: Option<[u8; 6]>,
    /// The longest IP packet, bytes.
    pub mtu: u32,
    /// It is set up.
    pub up: bool,
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
        };
        for attribute in &message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name.clone_from(name),
                LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
                LinkAttribute::Address(bytes) => link.mac = bytes.as_slice().try_into().ok(),
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
    /// Those of the namespace of this thread.
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

    /// The interface `name`.
    ///
    /// # Errors
    /// [`LiveError::NoInterface`].
    pub fn get(&mut self, name: &str) -> Result<Link, LiveError> {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(name.to_owned()));
        let answers = match self.route.request(RouteNetlinkMessage::GetLink(message), 0) {
            Ok(answers) => answers,
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENODEV)) => {
                return Err(LiveError::NoInterface(name.to_owned()));
            }
            Err(e) => return Err(LiveError::system(format!("look for the interface `{name}`"), e)),
        };
        let link = answers.iter().find_map(|answer| match answer {
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
    /// It is not there, or no right to do so.
    pub fn set_link_up(&mut self, name: &str, up: bool) -> Result<(), LiveError> {
        let what = || format!("set `{name}` {}", if up { "up" } else { "down" });
        self.set(name, what, |header, _| {
            header.change_mask = LinkFlags::Up;
            header.flags = if up { LinkFlags::Up } else { LinkFlags::empty() };
        })
    }

    /// Sets the longest IP packet of an interface, bytes.
    ///
    /// # Errors
    /// It is not there, does not take that, or no right to do so.
    pub fn set_mtu(&mut self, name: &str, mtu: u32) -> Result<(), LiveError> {
        let what = || format!("give `{name}` an MTU of {mtu} bytes");
        self.set(name, what, |_, attributes| attributes.push(LinkAttribute::Mtu(mtu)))
    }

    /// Removes an interface, and with one end of a veth pair the other.
    ///
    /// # Errors
    /// It is not there, or no right to do so.
    pub fn delete(&mut self, name: &str) -> Result<(), LiveError> {
        let mut message = LinkMessage::default();
        message.header.index = self.get(name)?.index;
        let what = || format!("remove `{name}`");
        self.request(what, RouteNetlinkMessage::DelLink(message), 0).map(drop)
    }
}

/// What netlink says that it has not: an answer that is none.
fn missing_attribute() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the kernel's answer lacks what was asked for")
}
