//! The states of RFC 9293 §3.3.2. LISTEN belongs to the endpoint: a listener holds no connection.

lowtide_units::named_enum! {
    /// State of a connection.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum State {
        /// SYN sent, no answer yet.
        SynSent = "SYN-SENT",
        /// SYN received, SYN-ACK sent.
        SynReceived = "SYN-RECEIVED",
        /// Open both ways.
        Established = "ESTABLISHED",
        /// We closed; our FIN is not acknowledged.
        FinWait1 = "FIN-WAIT-1",
        /// Our FIN is acknowledged; the peer may still send.
        FinWait2 = "FIN-WAIT-2",
        /// The peer closed; we may still send.
        CloseWait = "CLOSE-WAIT",
        /// Both closed simultaneously; our FIN is not acknowledged.
        Closing = "CLOSING",
        /// The peer closed first, then we did; our FIN is not acknowledged.
        LastAck = "LAST-ACK",
        /// Both closed; waits until old segments have expired.
        TimeWait = "TIME-WAIT",
        /// No connection.
        Closed = "CLOSED",
    }
}

impl State {
    /// The handshake is over.
    pub const fn is_synchronised(self) -> bool {
        !matches!(self, Self::SynSent | Self::SynReceived | Self::Closed)
    }
    /// The peer may still send data.
    pub const fn can_receive(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }
    /// We may still send data or retransmit it.
    pub const fn can_send(self) -> bool {
        matches!(
            self,
            Self::Established | Self::CloseWait | Self::FinWait1 | Self::Closing | Self::LastAck
        )
    }
}
