//! A sans-IO TCP for data centres: DCTCP, CUBIC, Accurate ECN, RACK-TLP, and every other scheme of
//! lowtide, in one state machine.
//!
//! The crate does no I/O. It reads no clock, starts no threads and stores no payload. A *driver*
//! passes in segments and the time, and polls for segments to send. Drivers exist for a simulator,
//! for TUN devices, and for UDP datagrams (`examples/over_udp.rs`).
//!
//! # Two endpoints over a marking queue
//! A client sends 2 MB through a queue that marks above 20 packets, in virtual time:
//! ```
//! use std::collections::VecDeque;
//! use std::net::{IpAddr, Ipv4Addr};
//!
//! use lowtide_tcp::units::{Duration, Instant};
//! use lowtide_tcp::wire::Ecn;
//! use lowtide_tcp::{Arrival, Config, Endpoint, Event};
//!
//! const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
//! const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
//!
//! let config = Config::builder().scheme("dctcp").build()?;
//! let (mut client, mut server) = (Endpoint::new(1), Endpoint::new(2));
//! server.listen(80, config.clone(), 16)?;
//! let mut now = Instant::ZERO;
//! let ours = client.connect(now, CLIENT, 0, SERVER, 80, config)?;
//! client.conn(ours).unwrap().send(2_000_000);
//! let (mut queue, mut theirs, mut marked, mut received) = (VecDeque::new(), None, 0, 0);
//! while received < 2_000_000 {
//!     let conn = client.conn(ours).unwrap();
//!     while let Some(transmit) = conn.poll_transmit(now) {
//!         let mut segment = transmit.segment(0); // one, without segmentation offload
//!         if queue.len() > 20 && segment.ecn != Ecn::NotEct {
//!             (segment.ecn, marked) = (Ecn::Ce, marked + 1);
//!         }
//!         queue.push_back(segment);
//!     }
//!     now = now + Duration::from_us(12); // 1500 B at 1 Gbit/s
//!     if conn.poll_timeout().is_some_and(|at| at <= now) {
//!         conn.handle_timeout(now);
//!     }
//!     if let Some(segment) = queue.pop_front() {
//!         match server.handle_segment(now, SERVER, CLIENT, &segment, theirs) {
//!             Arrival::Opened(id) => theirs = Some(id),
//!             Arrival::Taken(..) => {}
//!             other => panic!("{other:?}"),
//!         }
//!     }
//!     let Some(conn) = theirs.and_then(|id| server.conn(id)) else { continue };
//!     if conn.poll_timeout().is_some_and(|at| at <= now) {
//!         conn.handle_timeout(now);
//!     }
//!     while let Some(event) = conn.poll_event() {
//!         if let Event::Readable { upto } = event {
//!             conn.read(upto - received);
//!             received = upto;
//!         }
//!     }
//!     while let Some(transmit) = conn.poll_transmit(now) {
//!         client.handle_segment(now, CLIENT, SERVER, &transmit.segment(0), Some(ours));
//!     }
//! }
//! let counters = client.conn(ours).unwrap().info().counters;
//! assert!(marked > 0 && counters.ecn_reductions > 0);
//! assert_eq!(counters.bytes_retrans, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Driving a connection
//! After every call that changed a connection:
//! 1. Send everything that [`Connection::poll_transmit`] returns, and everything of
//!    [`Endpoint::poll_reply`], which belongs to no connection.
//! 2. Handle each event of [`Connection::poll_event`]. After [`Event::Closed`], and when no segment
//!    is left to send, call [`Endpoint::release`].
//! 3. Wait until a packet arrives ([`Endpoint::handle_segment`]), the time of
//!    [`Connection::poll_timeout`] is reached ([`Connection::handle_timeout`]), or the application
//!    sends, reads or closes ([`Connection::send`], [`Connection::read`], [`Connection::close`]).
//!
//! [`wire::packet`] turns a [`wire::Segment`] into an IP packet and back. [`Connection::abort`]
//! resets a connection; [`Connection::info`] has the fields of Linux's `tcp_info`.
//!
//! **Payload** is named by offsets in the stream, which start at zero and never wrap. To send, the
//! driver copies the bytes of [`Transmit::stream_of`] into the packet; those below
//! [`Connection::acked_upto`] may be freed. [`Accepted`] says which bytes of an arriving packet to
//! keep, and their offset; those below the offset of [`Event::Readable`] are complete.
//!
//! **Time** is a [`units::Instant`], picoseconds since a start that the driver chooses. It must not
//! run backwards, and ends after 213 days.
//!
//! **Seed**: on a real network, [`Endpoint::new`] needs 64 random bits from the system. Equal seeds
//! and equal calls give equal segments.
//!
//! Remote input never panics: a segment that is not acceptable is an error or a
//! [`Arrival::Stray`].
//!
//! # Choosing a scheme
//! [`Config::builder`] takes a profile (the defaults of a stack: `rfc`, `linux`, `freebsd`), a
//! scheme (`dctcp`, `cubic`, `accecn`, …) and single settings. [`scheme::REGISTRY`] and
//! [`switches::all`] list them with their sources. The two ends may have different ones. A
//! congestion control of another crate implements [`cc::CongestionControl`] and is registered in
//! [`cc::REGISTRY`] before the first connection. Registration is the only global state.
//!
//! # `no_std`
//! The crate needs `alloc` and atomic pointers, no `std` and no features.
//!
//! # Stability
//! Semantic versioning covers this surface:
//! - [`Endpoint`], [`Connection`], [`Transmit`], [`Accepted`], [`Info`], [`Counters`], the events
//!   and the errors. Enums and structs that may grow are `#[non_exhaustive]`.
//! - [`Config::builder`], and the names of profiles, schemes and switches that it accepts. To
//!   remove a name is a breaking change.
//! - [`units`] and [`wire`]. [`wire::Segment`] and its options may get fields: build them with
//!   `..Segment::default()`.
//!
//! Any version may change all other items: the fields of [`Config`] and their enums, [`switches`],
//! [`profile`], [`scheme`], [`delay`], and the traits of [`cc`], [`ack`] and [`feedback`]. It may
//! also change which segments are sent; each deviation from an RFC is named in the module that
//! deviates. Items hidden from this documentation are hooks of the simulator and of tests.
//!
//! Read first: RFC 9293, RFC 5681, RFC 6675, RFC 6298, RFC 7323, RFC 3168.
#![no_std]
#![deny(clippy::float_arithmetic)]

extern crate alloc;
// Lets a file compile unchanged here and in another crate: `use lowtide_tcp::cc::CcEntry`.
extern crate self as lowtide_tcp;

#[cfg(test)]
extern crate std;

pub mod delay;
pub mod profile;
pub mod scheme;
pub mod switches;

/// The programs of the pages for users of other stacks are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/howto/from-smoltcp.md")]
#[doc = include_str!("../../../docs/howto/from-quinn-proto.md")]
mod pages {}

mod config_builder;
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
mod loss;
mod receive;
mod send;
mod settings;
mod state;
mod timers;
mod transmit;

pub use config_builder::ConfigBuilder;
pub use connection::Connection;
pub use defence::{AckAccept, AckThrottle, RstAccept, SynAnswer, TimeWaitReset};
pub use delay::DelayMode;
pub use ecn::EcnMode;
pub use endpoint::{Arrival, ConnId, Endpoint, FourTuple, ListenError, OpenError};
pub use event::{CloseReason, Event, SegmentError};
pub use icmp::IcmpReport;
pub use info::{Counters, Info};
pub use lowtide_congestion::cc::GrowthCounts;
pub use lowtide_congestion::{ack, cc, feedback};
pub use lowtide_schema::{
    DefaultValue, NotSimulated, Param, ParamError, RegisteredTwice, UnknownName, Value, ValueError,
    ValueKind, Values,
};
pub use lowtide_units as units;
pub use lowtide_wire as wire;
pub use lowtide_wire::IpVersion;
pub use receive::memory::DataKind;
pub use receive::receiver::Accepted;
pub use send::sender::LimitedBy;
pub use settings::config::{
    AccEcnOptionRule, AccEcnRules, BufferTuning, BufferTuningRule, Config, CutFrom, CutRoundEnd,
    CutRule, CwrRule, DelayEchoRule, EcnNegotiation, EctClass, FinAck, FreezeGrowth, GrowthWhen,
    HandshakeRtt, IdleDecay, InitialWindow, IsnRule, LossFrom, NagleRule, PacingRule, RackRtt,
    RecoveryRule, Reduction, RtoMinApplies, RttGains, RttTicks, SynCookies, TimestampOffset,
    UndoRule, WindowProbe,
};
pub use settings::params::Params;
pub use state::State;
pub use switches::SwitchError as ConfigError;
pub use transmit::{SegmentCut, Transmit, TransmitId};
