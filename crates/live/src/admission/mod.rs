//! Admission of clients to a server or relay with a limited number of places: one rule for both.
//!
//! Contract: no socket, no clock, no thread. The caller passes times, addresses and the bytes that
//! a connection has moved: received from the client, and acknowledged by it. It closes the
//! connections that are named.
//!
//! - **Idle limit**: a connection that moves no byte for [`AdmissionLimits::idle`] is closed.
//! - **Least rate**: each byte pays for time that has passed, at [`AdmissionLimits::min_rate`]. A
//!   connection *lags* by the time that it has not paid for. Until it has moved as much as the rate
//!   asks in one [`AdmissionLimits::rate_window`], it is on *probation*. While more than half of
//!   the places are taken, a connection on probation that lags by more than the window is closed.
//! - **Share**: the number of places divided by the number of sources that have connections, the
//!   newcomer's included. A source ([`Source`]) is an IPv4 address or an IPv6 network of 64 bits.
//!   While more than half of the places are taken, a newcomer whose source has its share replaces
//!   a connection of that source. If all places are taken, any other newcomer takes a place of the
//!   source with the most connections.
//! - **Closed first**: of the connections that may be replaced, one on probation before others,
//!   and of these the one that lags most. On probation it must lag by
//!   [`AdmissionLimits::yield_after`], else by four times as much. Above the share of its source it
//!   need not lag.
//! - **Waiting**: a newcomer without a place waits; at most as many wait as there are places.
//!   Beyond, the oldest of the source with the most waiting connections is refused: a burst of
//!   arrivals thus does not shut out clients that come after it. Places go to the longest waiting
//!   whose source may have one.

mod limits;
mod queue;
mod source;
mod table;

pub use limits::{AdmissionLimits, CloseCause};
pub use queue::{AdmissionQueue, Admitted};
pub use source::Source;
