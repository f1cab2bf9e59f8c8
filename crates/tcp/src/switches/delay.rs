//! Switches of the measurement of queueing delay (DX).

use lowtide_schema::{Value, ValueKind};
use lowtide_units::Duration;

use super::field::{FLAG, Field, choice, span, switches, variants};
use super::{Side, Switch};
use crate::settings::config::DelayEchoRule;

variants! {
    DelayEchoRule { "mean" Mean, "newest" Newest }
}

pub(super) const DELAY: &[Switch] = switches! {
    "delay-option", Connection, (delay_option: FLAG),
        "Offer and use the delay option: host timestamps on every segment, 16 bytes of \
         header.",
        "DX §V-B; RFC 6994 for its identifier";
    "delay-echo", Receiver, (delay_echo: choice::<DelayEchoRule>()),
        "The one-way delay that an ACK of several segments echoes: their mean, or that of the \
         newest.",
        "DX §V-A: mean under LRO, newest under delayed ACK";
    "delay-slack", Sender, (delay_slack: span(Duration::ZERO, Duration::from_ms(1))),
        "An RTT up to this much above the minimum still counts as the minimum and renews it.",
        "lowtide; DX §III: \"re-observe the current minimum\"";
    "delay-lifetime", Sender, (delay_lifetime: span(Duration::ZERO, Duration::from_secs(3600))),
        "A minimum RTT not seen for this long is discarded; 0 s keeps it forever.",
        "lowtide; DX §III keeps it";
};
