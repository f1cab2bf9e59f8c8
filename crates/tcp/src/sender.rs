//! The sending half's state: SND.UNA, SND.NXT, the peer's window, what is in flight, and what limits.

use alloc::boxed::Box;

use lowtide_units::Instant;
use lowtide_wire::SeqNum;

use crate::config::{Config, RecoveryRule, Reduction};
use crate::recovery::{Eifel, Episode, Prr, Rack, Scoreboard, Tlp};

/// What kept the sender from sending more when it last tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LimitedBy {
    /// No more data from the application.
    Application,
    /// The congestion window (or its pacing).
    Cwnd,
    /// The peer's window.
    ReceiveWindow,
    /// The send buffer.
    SendBuffer,
    /// The host's own queue has enough of this connection ([`crate::Connection::hold_data_until`]).
    HostQueue,
}

/// Bytes of the send buffer that a segment in flight takes at least, however short it is. Its entry in the
/// scoreboard takes memory and time that the peer would else decide by its MSS (CVE-2019-11478,
/// CVE-2019-11479). Deviation: the RFCs count bytes of data only; Linux charges a whole socket buffer.
const SEGMENT_COST: u64 = 512;
/// Short segments that may be in flight however small the send buffer is.
const MIN_SEGMENTS: u64 = 1024;

/// What PRR, RACK and tail loss probes keep; no burden for connections without them.
#[derive(Clone, Debug)]
pub(crate) struct RecoveryExt {
    /// The window comes down by PRR at present.
    pub(crate) prr: Option<Prr>,
    pub(crate) rack: Rack,
    pub(crate) tlp: Tlp,
    /// When the last loss was answered, by fast recovery or by a timeout.
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

/// What the last look at data and windows left for the segments after the one that it let go: it holds until
/// something arrives, a timer fires, or the application says something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendQuota {
    /// Bytes that are there to be sent and fit the peer's window, but for the last one.
    data: u32,
    /// Bytes that the congestion window has room for.
    room: u32,
    /// No pacer spaces them.
    pub(crate) unpaced: bool,
}

/// What is ahead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum QuotaCheck {
    /// A full segment, and not the last one.
    FullSegment,
    /// Nothing, for want of congestion window.
    CwndLimited,
    /// It must be looked at.
    Unknown,
}

impl SendQuota {
    pub(crate) const UNKNOWN: Self = Self { data: 0, room: 0, unpaced: false };

    /// A full segment of `mss` goes unpaced, out of so many bytes.
    pub(crate) fn after(mss: u64, data: u64, room: u64) -> Self {
        let (data, room) = (data.saturating_sub(mss + 1), room.saturating_sub(mss));
        // Where the room is more than can be said, the data must be looked at again before it is used up.
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

    /// It goes.
    #[inline]
    pub(crate) const fn consume(&mut self, mss: u32) {
        self.data -= mss;
        self.room -= mss;
    }
}

/// Offsets count payload bytes from zero; a FIN counts one.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Sender {
    // In the order of use: what every segment touches stands together, what few do comes last.
    /// SND.UNA.
    pub(crate) una: u64,
    /// SND.NXT: the highest offset ever sent. Retransmission does not move it back.
    pub(crate) nxt: u64,
    /// How far the application has given data.
    pub(crate) write_seq: u64,
    /// SND.WND, bytes.
    pub(crate) wnd: u64,
    /// The largest window that the peer ever offered (RFC 9293 §3.8.6.2.1).
    pub(crate) max_wnd: u64,
    pub(crate) isn: SeqNum,
    /// Payload bytes of a full segment.
    pub(crate) mss: u32,
    /// Bytes that may be unacknowledged or unsent: the send buffer, less where segments are short.
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
    /// The next transmission ignores the peer's window (persist timer).
    pub(crate) window_probe_due: bool,
    /// The last attempt to send was stopped by the pacer alone.
    pub(crate) pacing_blocked: bool,
    /// The driver takes no data before `pace_at`.
    pub(crate) tsq_throttled: bool,
    /// ECE of the last ACK.
    pub(crate) last_ece: bool,
    /// The application was told that the buffer is full.
    pub(crate) nospace: bool,
    /// Reports that would lower the path MTU so far.
    pub(crate) pmtu_reductions: u8,
    pub(crate) quota: SendQuota,
    /// One past a window probe's byte, while unanswered.
    pub(crate) window_probe_end: Option<u64>,
    pub(crate) board: Scoreboard,
    /// Where a switch asks for it.
    pub(crate) recovery_ext: Option<Box<RecoveryExt>>,
    pub(crate) episode: Episode,
    /// New data sent by limited transmit in this run of duplicates; not part of FlightSize.
    pub(crate) limited_transmit_bytes: u64,
    /// Bytes delivered so far, and when the last of them was.
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

    /// Short segments that may be in flight. With full ones, which [`Self::buffer`] bounds, there are
    /// twice as many at most.
    pub(crate) fn max_segments(config: &Config) -> usize {
        let most = config.send_buffer.as_u64().div_ceil(SEGMENT_COST).max(MIN_SEGMENTS);
        usize::try_from(most).unwrap_or(usize::MAX)
    }

    /// Full segments have `mss` bytes from now on.
    pub(crate) fn set_mss(&mut self, mss: u32, config: &Config) {
        self.mss = mss;
        let most = Self::max_segments(config) as u64;
        self.buffer = config.send_buffer.as_u64().min(most.saturating_mul(u64::from(mss)));
    }

    /// The reduction by PRR that is under way.
    pub(crate) fn prr(&self) -> Option<&Prr> {
        self.recovery_ext.as_ref()?.prr.as_ref()
    }

    pub(crate) fn prr_mut(&mut self) -> Option<&mut Prr> {
        self.recovery_ext.as_mut()?.prr.as_mut()
    }

    /// The end of a tail loss probe that is not decided yet.
    pub(crate) fn loss_probe_end(&self) -> Option<u64> {
        self.recovery_ext.as_ref()?.tlp.end_seq()
    }

    /// Bytes held outside of this struct.
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

    /// New data or a FIN waits to be sent.
    pub(crate) const fn has_unsent(&self) -> bool {
        self.nxt < self.write_seq || (self.fin_queued && !self.fin_sent)
    }

    /// Our FIN was acknowledged.
    pub(crate) const fn fin_acked(&self) -> bool {
        self.fin_sent && self.una > self.write_seq
    }

    /// The peer's window field arrived, scaled.
    pub(crate) fn set_window(&mut self, wnd: u64, seq: SeqNum, ack: SeqNum) {
        self.wnd = wnd;
        self.wl1 = seq;
        self.wl2 = ack;
        self.max_wnd = self.max_wnd.max(wnd);
    }
}
