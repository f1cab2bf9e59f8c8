//! SYN cookies (RFC 4987 §3.6, appendix A): a listener with a full backlog answers a SYN without
//! keeping state. The initial sequence number holds the state, and so does the timestamp if both
//! ends use that option. The ACK that completes the handshake returns both.
//!
//! | bits of the number minus F(four-tuple) | content |
//! |---|---|
//! | 31..24 | the period of [`PERIOD`] in which it was sent |
//! | 23..0 | a keyed hash over four-tuple, peer's ISN, period and options, plus the index of the MSS |
//!
//! Contract: the keys belong to the endpoint, one for F and one for the hash. A cookie is valid in
//! its period and in the next one, 64 s to 128 s. A forged ACK is accepted with probability 2^-28.
//! ACKs are compared with cookies only while a listener has recently sent some, so that an ACK
//! cannot open a connection at other times.
//!
//! Deviations from a handshake with state: the MSS is rounded down to one of [`MSS`]. Window scale,
//! SACK and ECN are kept only if timestamps are agreed. AccECN becomes classic ECN, and the delay
//! option is not offered. The SYN-ACK is not retransmitted: if the last ACK is lost, a peer that
//! waits for our data first waits forever. The handshake gives no RTT sample. Only the highest byte
//! of the number follows a clock, in steps of 64 s; within a period the numbers of one four-tuple
//! are not monotonic (RFC 6528 §3). A SYN that would end a TIME-WAIT gets no cookie.

#[cfg(test)]
mod tests;

use alloc::sync::Arc;
use core::hash::Hasher;

use lowtide_units::{Duration, Instant};
use lowtide_wire::{Flags, Options, Segment, SeqNum, Timestamps};
use siphasher::sip::SipHasher24;

use super::secrets::{Secrets, SipKey, hash_four_tuple};
use super::{Arrival, Endpoint, FourTuple};
use crate::connection::Connection;
use crate::settings::config::{Config, TimestampOffset};
use crate::state::State;

/// The clock step of cookies (RFC 4987, appendix A).
const PERIOD: Duration = Duration::from_secs(64);
/// Number of periods in which a cookie is valid.
const PERIODS: u32 = 2;
/// The values to which an MSS is rounded down: the minimum, those of the smallest MTUs, of tunnels,
/// of Ethernet over IPv6 and IPv4, and of 9000-byte frames.
const MSS: [u16; 8] = [48, 216, 536, 1220, 1360, 1440, 1460, 8940];
const HASH: u32 = 0x00ff_ffff;

// The lowest bits of TSval.
const NO_SCALE: u32 = 0xf;
const SACK: u32 = 1 << 4;
const ECN: u32 = 1 << 5;
const TS_BITS: u32 = 0x3f;

/// The state kept of a SYN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct SynOptions {
    /// The index in [`MSS`].
    mss: u32,
    /// The lowest bits of TSval; `None` without timestamps.
    options: Option<u32>,
}

impl SynOptions {
    fn of(syn: &Segment, config: &Config, default_mss: u16) -> Self {
        let stated = syn.options.mss.unwrap_or(default_mss);
        let mss = MSS.iter().rposition(|m| *m <= stated).unwrap_or(0) as u32;
        let stamped = config.timestamps && syn.options.timestamps.is_some();
        let options = stamped.then(|| {
            let scale = syn.options.window_scale.map_or(NO_SCALE, |s| u32::from(s.min(14)));
            let sack = if syn.options.sack_permitted { SACK } else { 0 };
            let ecn = syn.flags.contains(Flags::ECE | Flags::CWR);
            scale | sack | if ecn { ECN } else { 0 }
        });
        Self { mss, options }
    }

    /// Rebuilds the SYN from the kept state. `seg` is the SYN itself or the ACK that completed the
    /// handshake; `seq` is the SYN's sequence number.
    fn syn(self, seg: &Segment, seq: SeqNum) -> Segment {
        let has = |bit| self.options.is_some_and(|o| o & bit != 0);
        let scale = self.options.map(|o| o & NO_SCALE).filter(|s| *s != NO_SCALE);
        let value = seg.options.timestamps.filter(|_| self.options.is_some()).map(|t| t.value);
        Segment {
            src_port: seg.src_port,
            dst_port: seg.dst_port,
            seq,
            flags: if has(ECN) { Flags::SYN | Flags::ECE | Flags::CWR } else { Flags::SYN },
            window: seg.window,
            options: Options {
                mss: MSS.get(self.mss as usize).copied(),
                window_scale: scale.map(|s| s as u8),
                sack_permitted: has(SACK),
                timestamps: value.map(|value| Timestamps { value, echo: 0 }),
                ..Options::default()
            },
            ..Segment::default()
        }
    }
}

fn period(now: Instant) -> u32 {
    (now.as_ps() / PERIOD.as_ps()) as u32
}

/// The 24-bit hash of a cookie. It binds a cookie to its four-tuple, SYN, time and options.
fn hash(key: SipKey, tuple: &FourTuple, seq: SeqNum, period: u32, options: Option<u32>) -> u32 {
    let mut hasher = SipHasher24::new_with_keys(key[0], key[1]);
    hash_four_tuple(&mut hasher, tuple);
    hasher.write(&seq.raw().to_be_bytes());
    hasher.write(&period.to_be_bytes());
    hasher.write(&options.map_or(u32::MAX, |o| o & TS_BITS).to_be_bytes());
    hasher.finish() as u32 & HASH
}

/// F of RFC 6528 under a separate key.
fn connection_hash(key: SipKey, tuple: &FourTuple) -> u32 {
    let mut hasher = SipHasher24::new_with_keys(key[0], key[1]);
    hash_four_tuple(&mut hasher, tuple);
    hasher.finish() as u32
}

fn encode_cookie(
    secrets: &Secrets,
    now: Instant,
    tuple: &FourTuple,
    seq: SeqNum,
    kept: SynOptions,
) -> SeqNum {
    let [by_ends, by_time] = secrets.cookie;
    let period = period(now);
    let low = hash(by_time, tuple, seq, period, kept.options).wrapping_add(kept.mss) & HASH;
    SeqNum::new(connection_hash(by_ends, tuple).wrapping_add(period << 24).wrapping_add(low))
}

/// Returns the options in `cookie` if it is a valid cookie of this endpoint.
fn decode_cookie(
    secrets: &Secrets,
    now: Instant,
    tuple: &FourTuple,
    seq: SeqNum,
    cookie: SeqNum,
    options: Option<u32>,
) -> Option<SynOptions> {
    let [by_ends, by_time] = secrets.cookie;
    let value = cookie.raw().wrapping_sub(connection_hash(by_ends, tuple));
    let now = period(now);
    let age = now.wrapping_sub(value >> 24) & 0xff;
    let sent = now.checked_sub(age).filter(|_| age < PERIODS)?;
    let mss = value.wrapping_sub(hash(by_time, tuple, seq, sent, options)) & HASH;
    ((mss as usize) < MSS.len()).then_some(SynOptions { mss, options })
}

impl Endpoint {
    /// TSval offset of a cookie connection. `random` is replaced by a keyed hash, because the ACK
    /// must reproduce it.
    fn cookie_ts_base(&mut self, now: Instant, tuple: &FourTuple, config: &Config) -> u32 {
        if config.timestamp_offset == TimestampOffset::Random {
            return connection_hash(self.secrets.cookie[1], tuple);
        }
        self.secrets.initial_numbers(now, tuple, config).1
    }

    /// Answers a SYN with a cookie because its listener's backlog is full.
    #[cold]
    #[inline(never)]
    pub(super) fn send_cookie(
        &mut self,
        now: Instant,
        tuple: FourTuple,
        seg: &Segment,
        config: Arc<Config>,
    ) -> Arrival {
        let ip = tuple.ip_version();
        let kept = SynOptions::of(seg, &config, ip.default_mss());
        let isn = encode_cookie(&self.secrets, now, &tuple, seg.seq, kept);
        let ts_base = self.cookie_ts_base(now, &tuple, &config);
        let syn = kept.syn(seg, seg.seq);
        // The SYN-ACK of a connection that is discarded at once.
        let mut conn = Connection::accept(config, now, &syn, isn, ts_base).with_ip_version(ip);
        let Some(mut reply) = conn.poll_transmit(now).map(|t| t.header) else {
            return Arrival::BacklogFull;
        };
        if let (Some(stamps), Some(options)) = (&mut reply.options.timestamps, kept.options) {
            let value = stamps.value & !TS_BITS | options;
            // With a TSval ahead of the clock, later segments would fail the peer's PAWS check (RFC
            // 7323 §5.3).
            let ahead = value.wrapping_sub(stamps.value).cast_signed() > 0;
            stamps.value = if ahead { value.wrapping_sub(TS_BITS + 1) } else { value };
        }
        self.listeners.sent_cookie(tuple.local_port, now + PERIOD * u64::from(PERIODS));
        self.replies.push_back((tuple, reply));
        Arrival::Cookie
    }

    /// Completes a cookie handshake with an ACK that belongs to no connection; `None` if the ACK
    /// holds no valid cookie.
    #[cold]
    #[inline(never)]
    pub(super) fn complete_cookie(
        &mut self,
        now: Instant,
        tuple: FourTuple,
        seg: &Segment,
    ) -> Option<Arrival> {
        let config = self.listeners.cookie_config(tuple.local_port, now)?;
        if seg.flags.intersects(Flags::SYN | Flags::RST) || !seg.flags.contains(Flags::ACK) {
            return None;
        }
        let stamps = seg.options.timestamps.filter(|_| config.timestamps);
        let options = stamps.map(|t| t.echo & TS_BITS);
        let (isn, seq) = (seg.ack.add(u64::from(u32::MAX)), seg.seq.add(u64::from(u32::MAX)));
        let kept = decode_cookie(&self.secrets, now, &tuple, seq, isn, options)?;
        let ts_base = self.cookie_ts_base(now, &tuple, &config);
        let syn = kept.syn(seg, seq);
        let mut conn =
            Connection::accept(config, now, &syn, isn, ts_base).with_ip_version(tuple.ip_version());
        // The SYN-ACK was sent at an unknown time.
        conn.poll_transmit(now)?;
        conn.forget_syn_time();
        let accepted = conn.handle_segment(now, seg).ok()?;
        if matches!(conn.state(), State::SynReceived | State::Closed) {
            return None;
        }
        let id = self.insert(tuple, conn, None);
        Some(Arrival::Completed(id, accepted))
    }
}
