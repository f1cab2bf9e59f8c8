//! packetdrill's own socket state while it runs a script: it follows one connection at a time and
//! counts all numbers from that connection's first SYN.

use std::collections::BTreeSet;

use lowtide_wire::Flags;

use crate::script::{Call, CallResult, Expr, PacketSpec, Syscall};

type Result = std::result::Result<(), String>;

/// Connection that the script's packets belong to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum UnderTest {
    #[default]
    None,
    /// The newest socket, by descriptor.
    New(i64),
    Listening,
    Connecting,
    SynSent,
    Connected,
}

#[derive(Debug, Default)]
pub(super) struct SocketTracker {
    open: BTreeSet<i64>,
    under_test: UnderTest,
    /// The peer's ISN; zero until known.
    remote_isn: u32,
    /// Numbers acknowledged by the host's answer to the peer's last SYN.
    after_syn: Option<(u32, u32)>,
    /// The peer's SYN crossed the host's, and no SYN-ACK has given its ISN yet.
    simultaneous_open: bool,
}

impl SocketTracker {
    pub(super) fn call(&mut self, call: &Call) -> Result {
        let succeeded = match &call.result {
            Some(CallResult::Value(n)) => Some(*n),
            _ => None,
        };
        if call.syscall == Syscall::Socket {
            return succeeded.map_or(Ok(()), |fd| {
                self.under_test = UnderTest::New(fd);
                self.remote_isn = 0;
                self.after_syn = None;
                self.simultaneous_open = false;
                self.add(fd)
            });
        }
        let fd = match call.args.first() {
            Some((Expr::Int(fd), _)) if self.open.contains(fd) => *fd,
            Some((Expr::Int(fd), _)) => {
                return Err(format!(
                    "descriptor {fd} is not open: stock packetdrill makes no call on it"
                ));
            }
            _ => return Err("the first argument is not a descriptor".to_string()),
        };
        match call.syscall {
            Syscall::Listen if self.under_test == UnderTest::New(fd) => {
                self.under_test = UnderTest::Listening;
            }
            Syscall::Connect if self.under_test == UnderTest::New(fd) => {
                self.under_test = UnderTest::Connecting;
            }
            Syscall::Accept => return succeeded.map_or(Ok(()), |fd| self.add(fd)),
            Syscall::Close if succeeded.is_some() => {
                self.open.remove(&fd);
            }
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, fd: i64) -> Result {
        if self.open.insert(fd) {
            return Ok(());
        }
        Err(format!("descriptor {fd} is open already: give it another number"))
    }

    pub(super) fn packet(&mut self, spec: &PacketSpec) -> Result {
        let (syn, acks) = (spec.flags.contains(Flags::SYN), spec.flags.contains(Flags::ACK));
        if self.simultaneous_open && !syn {
            return Err(
                "stock packetdrill learns the peer's initial number from its SYN-ACK; a SYN \
                        alone must have 0"
                    .to_string(),
            );
        }
        if spec.inbound {
            self.inbound(spec, syn, acks);
            return Ok(());
        }
        self.outbound(spec, syn, acks)
    }

    fn inbound(&mut self, spec: &PacketSpec, syn: bool, acks: bool) {
        match self.under_test {
            UnderTest::None | UnderTest::Listening => {
                self.under_test = UnderTest::Connected;
                self.remote_isn = spec.seq;
            }
            UnderTest::SynSent if syn && acks => {
                self.under_test = UnderTest::Connected;
                self.remote_isn = spec.seq;
                self.simultaneous_open = false;
            }
            UnderTest::SynSent if syn => self.simultaneous_open = spec.seq != 0,
            _ => {}
        }
        if syn {
            let after = spec.seq.wrapping_add(1);
            self.after_syn = Some((spec.seq, after));
        }
    }

    fn outbound(&mut self, spec: &PacketSpec, syn: bool, acks: bool) -> Result {
        match self.under_test {
            UnderTest::None => {
                return Err("stock packetdrill has no socket for this packet".to_string());
            }
            UnderTest::Connecting if syn && !acks => self.under_test = UnderTest::SynSent,
            _ => {}
        }
        let renews = |(isn, after): (u32, u32)| isn != self.remote_isn && spec.ack == Some(after);
        if syn && acks && !self.simultaneous_open && self.after_syn.is_some_and(renews) {
            return Err("stock packetdrill keeps the numbers of the first connection between two \
                        ends; another one cannot follow it"
                .to_string());
        }
        Ok(())
    }
}
