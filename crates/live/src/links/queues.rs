//! Lengths of the queues of devices.

use netlink_packet_core::NLM_F_DUMP;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcStats2};

use super::Links;
use crate::error::LiveError;

/// Backlog of a device's root qdisc.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RootQueue {
    /// Index of the device.
    pub device: u32,
    /// Its packets.
    pub packets: u32,
    /// Their bytes, with the Ethernet header.
    pub bytes: u32,
}

impl Links {
    /// Returns the backlogs of all devices of the namespace.
    ///
    /// # Errors
    /// The system call failed.
    pub fn root_queues(&mut self) -> Result<Vec<RootQueue>, LiveError> {
        let all = RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default());
        let replies = self.request(|| "list the qdiscs".to_owned(), all, NLM_F_DUMP)?;
        let queue = |reply| {
            let RouteNetlinkMessage::NewQueueDiscipline(qdisc) = reply else { return None };
            let device = u32::try_from(qdisc.header.index).ok()?;
            let is_root = qdisc.header.parent == TcHandle::ROOT;
            let of_qdisc = qdisc.attributes.into_iter().filter(|_| is_root);
            let mut statistics = of_qdisc.flat_map(|attribute| match attribute {
                TcAttribute::Stats2(all) => all,
                _ => Vec::new(),
            });
            statistics.find_map(|one| match one {
                TcStats2::Queue(q) => Some(RootQueue { device, packets: q.qlen, bytes: q.backlog }),
                _ => None,
            })
        };
        Ok(replies.into_iter().filter_map(queue).collect())
    }
}
