//! Pairs of Ethernet interfaces: what goes into one comes out of the other.

use std::os::fd::{AsFd, AsRawFd};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkInfo, LinkMessage,
};

use super::Links;
use crate::error::LiveError;
use crate::netns::Namespace;

/// One end of a pair.
#[derive(Clone, Copy, Debug)]
pub struct VethEnd<'a> {
    /// Its name, 1 to 15 bytes.
    pub name: &'a str,
    /// The namespace that it is to be in; that of the [`Links`] without.
    pub namespace: Option<&'a Namespace>,
}

impl VethEnd<'_> {
    fn message(&self, mtu: u32) -> LinkMessage {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(self.name.to_owned()));
        message.attributes.push(LinkAttribute::Mtu(mtu));
        if let Some(namespace) = self.namespace {
            message.attributes.push(LinkAttribute::NetNsFd(namespace.as_fd().as_raw_fd()));
        }
        message
    }
}

impl Links {
    /// Makes a pair, both ends down. It is gone when either end's namespace is.
    ///
    /// # Errors
    /// [`LiveError::NameTaken`], or no right to do so.
    pub fn add_veth(
        &mut self,
        a: &VethEnd<'_>,
        b: &VethEnd<'_>,
        mtu: u32,
    ) -> Result<(), LiveError> {
        let mut message = a.message(mtu);
        message.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(b.message(mtu)))),
        ]));
        let request = RouteNetlinkMessage::NewLink(message);
        self.route.request(request, NLM_F_CREATE | NLM_F_EXCL).map(drop).map_err(|e| {
            if e.raw_os_error() == Some(libc::EEXIST) {
                return LiveError::NameTaken(format!("{}` or `{}", a.name, b.name));
            }
            LiveError::system(format!("make the veth pair `{}` and `{}`", a.name, b.name), e)
        })
    }
}
