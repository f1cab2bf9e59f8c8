//! The sans-IO TCP of lowtide.
//!
//! Contract: deterministic; no I/O, no clock, no threads, no payload bytes, and no floats in
//! decisions. The only global state are registrations by other crates before anything runs
//! ([`cc::REGISTRY`]). `now` is an argument. Remote input gives an error, never a panic.
//!
//! Read first: RFC 9293, RFC 5681, RFC 6675, RFC 6298, RFC 7323, RFC 3168.
#![no_std]
#![deny(clippy::float_arithmetic)]

extern crate alloc;
// Lets a file compile unchanged here and in another crate: `use lowtide_tcp::cc::CcEntry`.
extern crate self as lowtide_tcp;

#[cfg(test)]
extern crate std;

pub mod ack;
pub mod cc;
pub mod delay;
pub mod feedback;
pub mod profile;
pub mod scheme;
pub mod switches;

mod connection;
mod defence;
mod ecn;
mod endpoint;
mod event;
#[cfg(test)]
mod fast_path_equivalence;
mod handshake;
#[cfg(test)]
mod hostile;
mod icmp;
mod info;
mod ip;
mod loss;
mod receive;
mod send;
mod settings;
mod state;
mod timers;
mod transmit;

pub use connection::Connection;
pub use defence::{AckAccept, AckThrottle, RstAccept, SynAnswer, TimeWaitReset};
pub use delay::DelayMode;
pub use ecn::EcnMode;
pub use endpoint::{Arrival, ConnId, Endpoint, FourTuple, ListenError, OpenError};
pub use event::{CloseReason, Event, SegmentError};
pub use icmp::IcmpReport;
pub use info::{Counters, Info};
pub use ip::IpVersion;
pub use lowtide_schema::{
    DefaultValue, Param, ParamError, RegisteredTwice, Value, ValueError, ValueKind, Values,
};
pub use receive::memory::DataKind;
pub use receive::receiver::Accepted;
pub use send::sender::LimitedBy;
pub use settings::config::{
    Config, CutRoundEnd, CutRule, CwrRule, DelayEchoRule, EcnNegotiation, EctClass, FreezeGrowth,
    HandshakeRtt, InitialWindow, IsnRule, PacingRule, RecoveryRule, Reduction, RtoMinApplies,
    SynCookies, TimestampOffset, UndoRule,
};
pub use settings::params::Params;
pub use state::State;
pub use transmit::{Transmit, TransmitId};
