//! Switches of the end that receives the data.

use lowtide_units::Duration;

use super::field::{FLAG, Field, names, number, size, span, switches};
use super::{Side, Switch};
use crate::ack;

pub(super) const RECEIVER: &[Switch] = switches! {
    "ack", Receiver, (ack: names(|| ack::REGISTRY.names())),
        "Acknowledgement policy: the times of ACKs and their ECN echo.",
        "RFC 3168 §6.1.3, RFC 8257 §3.2";
    "delack-segments", Receiver, (delack_segments: number(1, 64)),
        "Acknowledge at least every m full segments; 1 acknowledges each.",
        "RFC 9293 §3.8.6.3";
    "delack-timer", Receiver, (delack_timer: span(Duration::ZERO, Duration::from_ms(500))),
        "The maximum delay of an ACK that waits for another segment.",
        "RFC 9293 §3.8.6.3: at most 500 ms";
    "initial-quick-acks", Receiver, (initial_quick_acks: size(0, 1 << 30)),
        "Segments of the first so many bytes of the stream are acknowledged at once; 0 delays \
         from the start.",
        "RFC 9293 §3.8.6.3 is silent; ns-2 spa_thresh_ (3000 B), Linux quick ACKs";
    "receive-buffer", Receiver, (receive_buffer: size(1, 1 << 30)),
        "Receive buffer in bytes; it limits the advertised window.",
        "RFC 9293 §3.8.6; RFC 7323 §2.2 bounds it at 1 GiB";
    "dsack", Receiver, (dsack: FLAG),
        "Report duplicate segments in the first SACK block.",
        "RFC 2883";
};
