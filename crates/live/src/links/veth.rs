//! Veth pairs: connected Ethernet interfaces.

use std::os::fd::{AsFd, AsRawFd};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkInfo, LinkMessage,
};

use super::Links;
use crate::error::LiveError;
use crate::netns::Namespace;

/// One end of a veth pair.
#[derive(Clone, Copy, Debug)]
pub struct VethEnd<'a> {
    /// Its name, 1 to 15 bytes.
    pub name: &'a str,
    /// Its namespace; `None` for that of the [`Links`].
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
    /// Creates a pair with both ends down. It is removed with either end's namespace.
    ///
    /// # Errors
    /// [`LiveError::NameTaken`], or no permission.
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
            LiveError::system(format!("create the veth pair `{}` and `{}`", a.name, b.name), e)
        })
    }
}
