//! Switches of the end that receives the data.

use lowtide_schema::{Value, ValueKind};
use lowtide_units::Duration;

use super::field::{number, set_bool, set_bytes, set_count, set_duration, set_registered, span};
use super::{Side, Switch};
use crate::ack;

pub(super) const RECEIVER: [Switch; 6] = [
    Switch {
        name: "ack",
        side: Side::Receiver,
        kind: ValueKind::Name { allowed: || ack::REGISTRY.names(), refused: &[] },
        doc: "Acknowledgement policy: the times of ACKs and their ECN echo.",
        source: "RFC 3168 §6.1.3, RFC 8257 §3.2",
        get: |c| Value::Name(c.ack),
        set: |c, v| set_registered(&mut c.ack, v),
    },
    Switch {
        name: "delack-segments",
        side: Side::Receiver,
        kind: number(1, 64),
        doc: "Acknowledge at least every m full segments; 1 acknowledges each.",
        source: "RFC 9293 §3.8.6.3",
        get: |c| Value::Count(u64::from(c.delack_segments)),
        set: |c, v| set_count(&mut c.delack_segments, v),
    },
    Switch {
        name: "delack-timer",
        side: Side::Receiver,
        kind: span(Duration::ZERO, Duration::from_ms(500)),
        doc: "The maximum delay of an ACK that waits for another segment.",
        source: "RFC 9293 §3.8.6.3: at most 500 ms",
        get: |c| Value::Duration(c.delack_timer),
        set: |c, v| set_duration(&mut c.delack_timer, v),
    },
    Switch {
        name: "initial-quick-acks",
        side: Side::Receiver,
        kind: ValueKind::Bytes { min: 0, max: 1 << 30 },
        doc: "Segments of the first so many bytes of the stream are acknowledged at once; 0 delays \
              from the start.",
        source: "RFC 9293 §3.8.6.3 is silent; ns-2 spa_thresh_ (3000 B), Linux quick ACKs",
        get: |c| Value::Bytes(c.initial_quick_acks),
        set: |c, v| set_bytes(&mut c.initial_quick_acks, v),
    },
    Switch {
        name: "receive-buffer",
        side: Side::Receiver,
        kind: ValueKind::Bytes { min: 1, max: 1 << 30 },
        doc: "Receive buffer in bytes; it limits the advertised window.",
        source: "RFC 9293 §3.8.6; RFC 7323 §2.2 bounds it at 1 GiB",
        get: |c| Value::Bytes(c.receive_buffer),
        set: |c, v| set_bytes(&mut c.receive_buffer, v),
    },
    Switch {
        name: "dsack",
        side: Side::Receiver,
        kind: ValueKind::Bool,
        doc: "Report duplicate segments in the first SACK block.",
        source: "RFC 2883",
        get: |c| Value::Bool(c.dsack),
        set: |c, v| set_bool(&mut c.dsack, v),
    },
];
