//! Send state: SND.UNA, SND.NXT, the peer's window, data in flight and the send limit.

use alloc::boxed::Box;

use lowtide_units::Instant;
use lowtide_wire::SeqNum;

use crate::loss::recovery::{Eifel, Episode, Prr, Rack, Scoreboard, Tlp};
use crate::settings::config::{Config, RecoveryRule, Reduction};

/// Reason why the sender stopped at its last attempt to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LimitedBy {
    /// No more data from the application.
    Application,
    /// The congestion window, or pacing.
    Cwnd,
    /// The peer's window.
    ReceiveWindow,
    /// The send buffer.
    SendBuffer,
    /// The host's own queue holds enough data of this connection
    /// ([`crate::Connection::hold_data_until`]).
    HostQueue,
}

/// Minimum bytes of the send buffer that a segment in flight occupies. Without it, a peer with a
/// small MSS could force many scoreboard entries (CVE-2019-11478, CVE-2019-11479). Deviation: the
/// RFCs count bytes of data only; Linux charges a whole socket buffer.
const SEGMENT_COST: u64 = 512;
/// Short segments that may be in flight even with a small send buffer.
const MIN_SEGMENTS: u64 = 1024;

/// State of PRR, RACK and tail loss probes, allocated only if one of them is enabled.
#[derive(Clone, Debug)]
pub(crate) struct RecoveryExt {
    /// The reduction by PRR in progress.
    pub(crate) prr: Option<Prr>,
    pub(crate) rack: Rack,
    pub(crate) tlp: Tlp,
    /// Time of the last loss reaction, by fast recovery or by a timeout.
    pub(crate) last_reaction_at: Instant,
}

impl RecoveryExt {
    fn from_config(config: &Config) -> Option<Box<Self>> {
        let asked = config.recovery == RecoveryRule::Rack
            || config.reduction == Reduction::Prr
            || config.tail_loss_probe;
        asked.then(|| {
            Box::new(Self {
                prr: None,
                rack: Rack::new(),
                tlp: Tlp::default(),
                last_reaction_at: Instant::ZERO,
            })
        })
    }
}

/// Data and congestion window left after the last send decision. Valid until a segment arrives, a
/// timer fires or the application calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendQuota {
    /// Unsent bytes that fit the peer's window, less one: the last byte is excluded.
    data: u32,
    /// Bytes left in the congestion window.
    room: u32,
    /// Sending is not paced.
    pub(crate) unpaced: bool,
}

/// Result of [`SendQuota::check`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum QuotaCheck {
    /// A full segment may be sent, and more data follows it.
    FullSegment,
    /// The congestion window has no room for a segment.
    CwndLimited,
    /// The quota does not decide; the full checks must run.
    Unknown,
}

impl SendQuota {
    pub(crate) const UNKNOWN: Self = Self { data: 0, room: 0, unpaced: false };

    /// The quota after one unpaced full segment of `mss` bytes, from `data` unsent bytes and `room`
    /// bytes of congestion window.
    pub(crate) fn after(mss: u64, data: u64, room: u64) -> Self {
        let (data, room) = (data.saturating_sub(mss + 1), room.saturating_sub(mss));
        // Room beyond `u32::MAX` is clamped; then `data` runs out first and the full checks run
        // again.
        let most = u64::from(u32::MAX);
        Self { data: data.min(most - mss) as u32, room: room.min(most) as u32, unpaced: true }
    }

    #[inline]
    pub(crate) const fn check(&self, mss: u32) -> QuotaCheck {
        if self.data < mss {
            QuotaCheck::Unknown
        } else if self.room < mss {
            QuotaCheck::CwndLimited
        } else {
            QuotaCheck::FullSegment
        }
    }

    /// Uses the quota for one full segment.
    #[inline]
    pub(crate) const fn consume(&mut self, mss: u32) {
        self.data -= mss;
        self.room -= mss;
    }
}

/// Send state. Offsets count payload bytes from zero; a FIN counts one.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Sender {
    // Ordered by use: the fields that every segment touches share cache lines; rare ones come last.
    /// SND.UNA.
    pub(crate) una: u64,
    /// SND.NXT: the highest offset ever sent. Retransmission does not move it back.
    pub(crate) nxt: u64,
    /// Stream offset up to which the application has written.
    pub(crate) write_seq: u64,
    /// SND.WND, bytes.
    pub(crate) wnd: u64,
    /// The largest window that the peer ever offered (RFC 9293 §3.8.6.2.1).
    pub(crate) max_wnd: u64,
    pub(crate) isn: SeqNum,
    /// Payload bytes of a full segment.
    pub(crate) mss: u32,
    /// Limit on unacknowledged plus unsent bytes: the send buffer, or less when segments are short.
    pub(crate) buffer: u64,
    /// SND.WL1 and SND.WL2.
    pub(crate) wl1: SeqNum,
    pub(crate) wl2: SeqNum,
    /// The peer's window shift.
    pub(crate) snd_wscale: u8,
    /// The application closed: FIN follows the last byte.
    pub(crate) fin_queued: bool,
    pub(crate) fin_sent: bool,
    pub(crate) limited_by: LimitedBy,
    /// The next transmission ignores the peer's window (persist timer fired).
    pub(crate) window_probe_due: bool,
    /// Pacing alone stopped the last attempt to send.
    pub(crate) pacing_blocked: bool,
    /// The driver accepts no data before `pace_at`.
    pub(crate) tsq_throttled: bool,
    /// ECE flag of the last ACK.
    pub(crate) last_ece: bool,
    /// The application was notified that the buffer is full.
    pub(crate) nospace: bool,
    /// ICMP reports so far that would lower the path MTU.
    pub(crate) pmtu_reductions: u8,
    pub(crate) quota: SendQuota,
    /// One past the byte of an unanswered window probe.
    pub(crate) window_probe_end: Option<u64>,
    pub(crate) board: Scoreboard,
    /// Present if a switch requires it.
    pub(crate) recovery_ext: Option<Box<RecoveryExt>>,
    pub(crate) episode: Episode,
    /// New data sent by limited transmit in this run of duplicate ACKs; not part of FlightSize.
    pub(crate) limited_transmit_bytes: u64,
    /// Bytes delivered so far, and the time of the last delivery.
    pub(crate) delivered: u64,
    pub(crate) delivered_at: Instant,
    /// End of the current round trip.
    pub(crate) round_end: u64,
    pub(crate) last_sent_at: Option<Instant>,
    pub(crate) eifel: Eifel,
    /// Window probes since data was sent, for their backoff.
    pub(crate) window_probes: u32,
    pub(crate) pace_at: Instant,
}

impl Sender {
    pub(crate) fn new(isn: SeqNum, config: &Config) -> Self {
        Self {
            isn,
            una: 0,
            nxt: 0,
            write_seq: 0,
            fin_queued: false,
            fin_sent: false,
            wnd: 0,
            wl1: SeqNum::new(0),
            wl2: SeqNum::new(0),
            max_wnd: 0,
            snd_wscale: 0,
            mss: 536,
            buffer: config.send_buffer.as_u64(),
            board: Scoreboard::default(),
            episode: Episode::default(),
            eifel: Eifel::default(),
            recovery_ext: RecoveryExt::from_config(config),
            limited_transmit_bytes: 0,
            round_end: 0,
            limited_by: LimitedBy::Application,
            quota: SendQuota::UNKNOWN,
            nospace: false,
            pmtu_reductions: 0,
            last_sent_at: None,
            window_probe_end: None,
            window_probes: 0,
            window_probe_due: false,
            pace_at: Instant::ZERO,
            pacing_blocked: false,
            tsq_throttled: false,
            last_ece: false,
            delivered: 0,
            delivered_at: Instant::ZERO,
        }
    }

    /// Maximum number of short segments in flight. [`Self::buffer`] bounds full segments to twice
    /// as many.
    pub(crate) fn max_segments(config: &Config) -> usize {
        let most = config.send_buffer.as_u64().div_ceil(SEGMENT_COST).max(MIN_SEGMENTS);
        usize::try_from(most).unwrap_or(usize::MAX)
    }

    /// Sets the payload bytes of a full segment to `mss`.
    pub(crate) fn set_mss(&mut self, mss: u32, config: &Config) {
        self.mss = mss;
        let most = Self::max_segments(config) as u64;
        self.buffer = config.send_buffer.as_u64().min(most.saturating_mul(u64::from(mss)));
    }

    /// The reduction by PRR in progress.
    pub(crate) fn prr(&self) -> Option<&Prr> {
        self.recovery_ext.as_ref()?.prr.as_ref()
    }

    pub(crate) fn prr_mut(&mut self) -> Option<&mut Prr> {
        self.recovery_ext.as_mut()?.prr.as_mut()
    }

    /// End of a tail loss probe whose outcome is not yet known.
    pub(crate) fn loss_probe_end(&self) -> Option<u64> {
        self.recovery_ext.as_ref()?.tlp.end_seq()
    }

    /// Heap bytes held outside this struct.
    pub(crate) fn heap(&self) -> usize {
        self.board.heap() + self.recovery_ext.as_deref().map_or(0, size_of_val)
    }

    /// Sequence number of a payload offset.
    pub(crate) const fn seq(&self, offset: u64) -> SeqNum {
        self.isn.add(1).add(offset)
    }

    /// Payload offset of an acknowledgement number, relative to SND.UNA; negative when old.
    pub(crate) const fn offset(&self, ack: SeqNum) -> i64 {
        self.una as i64 + ack.diff(self.seq(self.una)) as i64
    }

    /// New data or a FIN is waiting to be sent.
    pub(crate) const fn has_unsent(&self) -> bool {
        self.nxt < self.write_seq || (self.fin_queued && !self.fin_sent)
    }

    /// Our FIN is acknowledged.
    pub(crate) const fn fin_acked(&self) -> bool {
        self.fin_sent && self.una > self.write_seq
    }

    /// Stores the peer's scaled window field, with SND.WL1 and SND.WL2.
    pub(crate) fn set_window(&mut self, wnd: u64, seq: SeqNum, ack: SeqNum) {
        self.wnd = wnd;
        self.wl1 = seq;
        self.wl2 = ack;
        self.max_wnd = self.max_wnd.max(wnd);
    }
}
