//! Netlink requests, one at a time.

use std::io;

use lowtide_units::Duration;
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader, NetlinkMessage, NetlinkPayload,
    NetlinkSerializable,
};
use netlink_sys::{Socket, SocketAddr};

use crate::clock::Clock;

/// Time for the kernel to reply.
const REPLY_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval of polling for a reply; most replies are there when the request returns.
const POLL_INTERVAL: std::time::Duration = std::time::Duration::from_micros(100);

/// A netlink socket. It belongs to the namespace of the thread that opened it.
#[derive(Debug)]
pub(super) struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// Opens a socket for a netlink protocol.
    pub(super) fn open(protocol: isize) -> io::Result<Self> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        socket.set_non_blocking(true)?;
        // Error replies need not include the request.
        socket.set_cap_ack(true)?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Sends a request and collects the replies up to the final acknowledgement.
    pub(super) fn request<M>(&mut self, message: M, flags: u16) -> io::Result<Vec<M>>
    where
        M: NetlinkSerializable + NetlinkDeserializable,
    {
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        header.sequence_number = self.sequence;
        let mut request = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let mut replies = Vec::new();
        let clock = Clock::start();
        loop {
            let datagram = match self.socket.recv_from_full() {
                Ok((datagram, _)) => datagram,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    if clock.now().since_start() > REPLY_TIMEOUT {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    std::thread::sleep(POLL_INTERVAL);
                    continue;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            if self.parse_datagram(&datagram, &mut replies)? {
                return Ok(replies);
            }
        }
    }

    /// Parses a datagram. Returns true if it ends the reply.
    fn parse_datagram<M>(&self, datagram: &[u8], replies: &mut Vec<M>) -> io::Result<bool>
    where
        M: NetlinkSerializable + NetlinkDeserializable,
    {
        let mut remaining = datagram;
        while !remaining.is_empty() {
            let reply: NetlinkMessage<M> = NetlinkMessage::deserialize(remaining)
                .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.to_string()))?;
            let len = (reply.header.length as usize).next_multiple_of(4).max(16);
            remaining = remaining.get(len..).unwrap_or(&[]);
            if reply.header.sequence_number != self.sequence {
                continue;
            }
            match reply.payload {
                NetlinkPayload::Error(e) if e.code.is_some() => return Err(e.to_io()),
                NetlinkPayload::Error(_) | NetlinkPayload::Done(_) => return Ok(true),
                NetlinkPayload::InnerMessage(message) => replies.push(message),
                _ => {}
            }
        }
        Ok(false)
    }
}
