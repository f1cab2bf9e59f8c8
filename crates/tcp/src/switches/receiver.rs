//! Switches of the end that receives the data.

use lowtide_schema::{Value, ValueKind};
use lowtide_units::Duration;

use super::field::{FLAG, Field, choice, names, number, size, span, switches, variants};
use super::{Side, Switch};
use crate::ack;
use crate::settings::config::{BufferTuning, BufferTuningRule, FinAck};

variants! {
    BufferTuning { "fixed" Fixed, "auto" Auto }
    FinAck { "at-once" AtOnce, "delayed" Delayed }
    BufferTuningRule {
        "none" None, "freebsd-10" FreeBsd10, "freebsd-14" FreeBsd14, "linux" Linux
    }
}

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
    "fin-ack", Receiver, (fin_ack: choice::<FinAck>()),
        "A FIN without data that follows data is acknowledged at once, or after `delack-timer`.",
        "RFC 9293 §3.8.6.3; Linux tcp_fin, inet_csk_enter_pingpong_mode (delayed)";
    "initial-quick-acks", Receiver, (initial_quick_acks: size(0, 1 << 30)),
        "Segments of the first so many bytes of the stream are acknowledged at once; 0 delays \
         from the start.",
        "RFC 9293 §3.8.6.3 is silent; ns-2 spa_thresh_ (3000 B)";
    "initial-quick-ack-count", Receiver, (initial_quick_ack_count: number(0, 1000)),
        "So many ACKs of a connection, the first, are sent at once; 0 delays from the start.",
        "RFC 9293 §3.8.6.3 is silent; Linux TCP_MAX_QUICKACKS (16)";
    "window-growth-acks", Receiver, (window_growth_acks: FLAG),
        "Each segment is acknowledged at once while the receive window grows: by `buffer-tuning`. \
         A fixed buffer grows as in Linux, with segments of 1448 B during its first eighth.",
        "RFC 9293 §3.8.6.3 is silent; Linux tcp_grow_window: quick |= 1";
    "push-acks", Receiver, (push_acks: FLAG),
        "A read of all data acknowledges it at once if PSH or a segment of less than the MSS ended \
         it.",
        "RFC 9293 §3.8.6.3 is silent; Linux tcp_measure_rcv_mss, ICSK_ACK_PUSHED";
    "pingpong", Receiver, (pingpong: FLAG),
        "After data is sent within `delack-timer` of data that arrived, ACKs wait for more \
         answers: none is early, for the start of the connection or a read, until the timer fires.",
        "RFC 9293 §3.8.6.3 is silent; Linux inet_csk_in_pingpong_mode";
    "receive-buffer", Receiver, (receive_buffer: size(1, 1 << 30)),
        "Receive buffer in bytes; it limits the advertised window. With `buffer-tuning` it is the \
         maximum.",
        "RFC 9293 §3.8.6; RFC 7323 §2.2 bounds it at 1 GiB";
    "buffer-tuning", Receiver, (buffer_tuning: choice::<BufferTuning>()),
        "The receive buffer is fixed, or grows by `buffer-tuning-rule` from 64 KiB up to \
         `receive-buffer`.",
        "RFC 9293 §3.8.6 is silent; SO_RCVBUF fixes it in FreeBSD and Linux";
    "buffer-tuning-rule", Receiver, (buffer_tuning_rule: choice::<BufferTuningRule>()),
        "The rule of a tuned receive buffer: 16 KiB per round trip (FreeBSD 7 to 10.3), half as \
         much again per half a round trip (FreeBSD 14), or by what was read (Linux).",
        "FreeBSD tcp_do_segment, tcp_autorcvbuf; Linux 6.18 tcp_rcv_space_adjust";
    "dsack", Receiver, (dsack: FLAG),
        "Report duplicate segments in the first SACK block.",
        "RFC 2883";
};
