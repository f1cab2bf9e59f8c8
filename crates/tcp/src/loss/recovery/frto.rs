//! F-RTO: detection of a spurious timeout by the next two ACKs, without options (RFC 5682 §2.1), as
//! a pure state machine.
//!
//! After the retransmission of the first segment the first ACK of new data permits new data instead
//! of further retransmissions. If the second ACK acknowledges more, it is for data that was sent
//! once: nothing was lost. A duplicate ACK ends the detection, and the retransmissions go on.

/// The stage of one timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum FRto {
    /// Not running.
    #[default]
    Off,
    /// The first segment was retransmitted.
    FirstAck,
    /// New data may be sent.
    SecondAck,
}

/// An ACK while the detection runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FRtoAck {
    /// SND.UNA advanced.
    pub(crate) advanced: bool,
    /// It covers all data outstanding at the timeout.
    pub(crate) acks_all: bool,
    /// A new segment is ready and fits the peer's window.
    pub(crate) new_data: bool,
}

impl FRto {
    /// Applies steps 2 and 3: true if the timeout was spurious.
    pub(crate) const fn on_ack(&mut self, ack: FRtoAck) -> bool {
        let (next, spurious) = match *self {
            Self::FirstAck if ack.advanced && !ack.acks_all && ack.new_data => {
                (Self::SecondAck, false)
            }
            Self::SecondAck => (Self::Off, ack.advanced),
            Self::FirstAck | Self::Off => (Self::Off, false),
        };
        *self = next;
        spurious
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MORE: FRtoAck = FRtoAck { advanced: true, acks_all: false, new_data: true };
    const DUPLICATE: FRtoAck = FRtoAck { advanced: false, ..MORE };

    #[test]
    fn two_acks_of_new_data_after_a_timeout_show_that_it_was_spurious() {
        let mut frto = FRto::FirstAck;
        assert!(!frto.on_ack(MORE));
        assert_eq!(frto, FRto::SecondAck);
        // The second may cover everything.
        assert!(frto.on_ack(FRtoAck { acks_all: true, ..MORE }));
        assert_eq!(frto, FRto::Off);
        assert!(!frto.on_ack(MORE));
    }

    #[test]
    fn a_duplicate_an_ack_of_all_or_a_lack_of_new_data_ends_it() {
        for first in
            [DUPLICATE, FRtoAck { acks_all: true, ..MORE }, FRtoAck { new_data: false, ..MORE }]
        {
            let mut frto = FRto::FirstAck;
            assert!(!frto.on_ack(first));
            assert_eq!(frto, FRto::Off, "{first:?}");
        }
        let mut frto = FRto::SecondAck;
        assert!(!frto.on_ack(DUPLICATE));
        assert_eq!(frto, FRto::Off);
    }
}
