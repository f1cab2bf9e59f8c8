//! Send state: SND.UNA, SND.NXT, the peer's window, data in flight and the send limit.

use alloc::boxed::Box;
use core::hint::cold_path;

use lowtide_units::Instant;
use lowtide_wire::{Segment, SeqNum};

use super::quota::SendQuota;
use super::rate_sample::RateSampler;
use crate::loss::recovery::{Eifel, Episode, Prr, RecoveryExt, Scoreboard};
use crate::settings::config::Config;

lowtide_units::named_enum! {
    /// Reason why the sender stopped at its last attempt to send.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    #[non_exhaustive]
    pub enum LimitedBy {
        /// No more data from the application.
        Application = "application",
        /// The congestion window, or pacing.
        Cwnd = "cwnd",
        /// The peer's window.
        ReceiveWindow = "receive-window",
        /// The send buffer.
        SendBuffer = "send-buffer",
        /// The host's own queue holds enough data of this connection
        /// ([`crate::Connection::hold_data_until`]).
        HostQueue = "host-queue",
    }
}

/// Minimum bytes of the send buffer that a segment in flight occupies. Without it, a peer with a
/// small MSS could force many scoreboard entries (CVE-2019-11478, CVE-2019-11479). Deviation: the
/// RFCs count bytes of data only; Linux charges a whole socket buffer.
const SEGMENT_COST: u64 = 512;
/// Short segments that may be in flight even with a small send buffer.
const MIN_SEGMENTS: u64 = 1024;

/// Use of the congestion window within the last window of data (switch `growth-when`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CwndUsage {
    /// cwnd stopped a send in it.
    pub(super) limited: bool,
    /// The most segments outstanding in it, if cwnd stopped no send.
    pub(super) segments: u64,
    /// It is over when SND.UNA reaches this offset.
    pub(super) end: u64,
    /// SND.NXT at the last record.
    pub(super) noted: u64,
}

/// Send state. Offsets count payload bytes from zero; a FIN counts one.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Sender {
    // Ordered by use: the fields that every segment touches share cache lines; rare ones come last.
    /// SND.UNA.
    pub(super) una: u64,
    /// SND.NXT: the highest offset ever sent. Retransmission does not move it back.
    pub(super) nxt: u64,
    /// Stream offset up to which the application has written.
    pub(super) write_seq: u64,
    /// SND.WND, bytes.
    pub(super) wnd: u64,
    /// The largest window that the peer ever offered (RFC 9293 §3.8.6.2.1).
    pub(super) max_wnd: u64,
    pub(super) isn: SeqNum,
    /// Payload bytes of a full segment.
    pub(super) mss: u32,
    /// Limit on unacknowledged plus unsent bytes: the send buffer, or less when segments are short.
    pub(super) buffer: u64,
    /// SND.WL1 and SND.WL2.
    pub(super) wl1: SeqNum,
    pub(super) wl2: SeqNum,
    /// The peer's window shift.
    pub(super) snd_wscale: u8,
    /// The application closed: FIN follows the last byte.
    pub(super) fin_queued: bool,
    pub(super) fin_sent: bool,
    pub(super) limited_by: LimitedBy,
    /// The next transmission ignores the peer's window (persist timer fired).
    pub(super) window_probe_due: bool,
    /// Pacing alone stopped the last attempt to send.
    pub(super) pacing_blocked: bool,
    /// The driver accepts no data before `pace_at`.
    pub(super) tsq_throttled: bool,
    /// ECE flag of the last ACK.
    pub(super) last_ece: bool,
    /// The application was notified that the buffer is full.
    pub(super) nospace: bool,
    /// ICMP reports so far that would lower the path MTU.
    pub(super) pmtu_reductions: u8,
    pub(super) quota: SendQuota,
    /// One past the byte of an unanswered window probe.
    pub(super) window_probe_end: Option<u64>,
    pub(crate) board: Scoreboard,
    /// Present from the first data on, if a switch requires it.
    pub(crate) recovery_ext: Option<Box<RecoveryExt>>,
    pub(crate) episode: Episode,
    /// New data sent by limited transmit in this run of duplicate ACKs; not part of FlightSize.
    pub(super) limited_transmit_bytes: u64,
    /// Present if the congestion control needs samples of the delivery rate.
    pub(crate) rate: Option<Box<RateSampler>>,
    /// Time of the last delivery; before it, that of ESTABLISHED.
    pub(super) delivered_at: Instant,
    /// End of the current round trip.
    pub(super) round_end: u64,
    /// End of the last small segment that ended the written data (Nagle).
    pub(super) small_end: u64,
    pub(super) cwnd_usage: CwndUsage,
    /// End of the last burst (switch `tso-defer`), which has PSH there if it has several segments.
    pub(super) burst_end: u64,
    pub(super) burst_push: bool,
    pub(super) last_sent_at: Option<Instant>,
    pub(crate) eifel: Eifel,
    /// Window probes since data was sent, for their backoff.
    pub(super) window_probes: u32,
    pub(super) pace_at: Instant,
    /// End of the burst whose first segment the pacer has released.
    pub(super) paced_burst_end: u64,
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
            recovery_ext: None,
            limited_transmit_bytes: 0,
            round_end: 0,
            small_end: 0,
            cwnd_usage: CwndUsage::default(),
            burst_end: 0,
            burst_push: false,
            limited_by: LimitedBy::Application,
            quota: SendQuota::UNKNOWN,
            nospace: false,
            pmtu_reductions: 0,
            last_sent_at: None,
            window_probe_end: None,
            window_probes: 0,
            window_probe_due: false,
            pace_at: Instant::ZERO,
            paced_burst_end: 0,
            rate: None,
            pacing_blocked: false,
            tsq_throttled: false,
            last_ece: false,
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

    /// Creates the state of loss recovery before data is in flight: an end that only receives
    /// needs none.
    #[inline]
    pub(crate) fn prepare_recovery(&mut self, config: &Config) {
        if self.recovery_ext.is_none() {
            cold_path();
            self.recovery_ext = RecoveryExt::from_config(config);
        }
    }

    /// The reduction by PRR in progress.
    pub(crate) fn prr(&self) -> Option<&Prr> {
        self.recovery_ext.as_ref()?.prr()
    }

    pub(crate) fn prr_mut(&mut self) -> Option<&mut Prr> {
        self.recovery_ext.as_mut()?.prr_mut()
    }

    /// End of a tail loss probe whose outcome is not yet known.
    pub(crate) fn loss_probe_end(&self) -> Option<u64> {
        self.recovery_ext.as_ref()?.probe_end()
    }

    /// Heap bytes held outside this struct.
    pub(crate) fn heap(&self) -> usize {
        self.board.heap()
            + self.recovery_ext.as_deref().map_or(0, size_of_val)
            + self.rate.as_ref().map_or(0, |rate| rate.heap())
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

    /// SND.UNA.
    #[inline]
    pub(crate) const fn una(&self) -> u64 {
        self.una
    }

    /// SND.NXT.
    #[inline]
    pub(crate) const fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Payload bytes of a full segment.
    #[inline]
    pub(crate) const fn mss(&self) -> u32 {
        self.mss
    }

    /// ISS: the sequence number of our SYN.
    pub(crate) const fn isn(&self) -> SeqNum {
        self.isn
    }

    /// Sequence number of the next new byte, SND.NXT.
    pub(crate) const fn next_seq(&self) -> SeqNum {
        self.seq(self.nxt)
    }

    /// Sequence number below SND.NXT: a segment without data at it is old, so the peer answers it.
    pub(crate) const fn old_seq(&self) -> SeqNum {
        self.isn.add(self.nxt)
    }

    /// The limit of the sender at its last attempt to send.
    pub(crate) const fn limited_by(&self) -> LimitedBy {
        self.limited_by
    }

    /// Makes the next send decision run all checks.
    #[inline]
    pub(crate) const fn reset_quota(&mut self) {
        self.quota = SendQuota::UNKNOWN;
    }

    /// The application wrote `n` bytes; ignored after its close.
    pub(crate) const fn write(&mut self, n: u64) {
        self.reset_quota();
        if !self.fin_queued {
            self.write_seq = self.write_seq.saturating_add(n);
        }
    }

    /// Discards data that was never sent and is beyond the send buffer. Returns its bytes.
    pub(crate) fn discard_unsent(&mut self) -> u64 {
        self.reset_quota();
        let edge = self.una.saturating_add(self.buffer);
        let kept = self.write_seq.min(edge.max(self.nxt));
        let back = if self.fin_queued { 0 } else { self.write_seq - kept };
        self.write_seq -= back;
        back
    }

    /// Free bytes of the send buffer; after a zero the application is notified of space.
    pub(crate) const fn space(&mut self) -> u64 {
        let used = self.write_seq.saturating_sub(self.una);
        let space = self.buffer.saturating_sub(used);
        self.nospace |= space == 0;
        space
    }

    /// Queues a FIN behind the data. Returns false if one was queued before.
    pub(crate) const fn queue_fin(&mut self) -> bool {
        if self.fin_queued {
            return false;
        }
        self.reset_quota();
        self.fin_queued = true;
        true
    }

    /// The application closed: FIN follows the last byte.
    pub(crate) const fn fin_is_queued(&self) -> bool {
        self.fin_queued
    }

    /// Our FIN is not sent yet, and follows the next `len` bytes.
    pub(crate) const fn fin_follows(&self, len: u64) -> bool {
        self.fin_queued && !self.fin_sent && self.nxt + len == self.write_seq
    }

    /// Our FIN was sent.
    pub(crate) const fn fin_is_sent(&self) -> bool {
        self.fin_sent
    }

    /// The application has written nothing.
    pub(crate) const fn nothing_written(&self) -> bool {
        self.write_seq == 0
    }

    /// All payload is acknowledged; a FIN may not be.
    pub(crate) const fn all_data_acked(&self) -> bool {
        self.una >= self.write_seq
    }

    /// Payload below this offset is acknowledged.
    pub(crate) fn acked_upto(&self) -> u64 {
        self.una.min(self.write_seq)
    }

    /// Payload from this offset on was never sent, not even as a window probe.
    pub(crate) fn sent_upto(&self) -> u64 {
        self.highest_ackable().min(self.write_seq)
    }

    /// The highest offset that the peer may acknowledge: it may have accepted a window probe.
    pub(crate) fn highest_ackable(&self) -> u64 {
        self.window_probe_end.map_or(self.nxt, |end| end.max(self.nxt))
    }

    /// The acknowledgement number, as an offset, covers new data that was sent, and no window probe
    /// is unanswered.
    #[inline]
    pub(crate) const fn acks_new_data(&self, upto: i64) -> bool {
        upto > self.una as i64 && upto <= self.nxt as i64 && self.window_probe_end.is_none()
    }

    /// Pacing alone stopped the last attempt to send.
    #[inline]
    pub(crate) const fn pacing_is_blocked(&self) -> bool {
        self.pacing_blocked
    }

    /// Neither data nor a window probe was sent.
    #[inline]
    pub(crate) const fn sent_nothing(&self) -> bool {
        self.nxt == 0 && self.window_probe_end.is_none()
    }

    /// Unsent bytes that the send buffer permits.
    pub(crate) fn available(&self) -> u64 {
        let edge = self.una.saturating_add(self.buffer);
        self.write_seq.min(edge).saturating_sub(self.nxt)
    }

    /// Bytes beyond SND.NXT that the peer's window permits.
    pub(crate) const fn usable_window(&self) -> u64 {
        (self.una + self.wnd).saturating_sub(self.nxt)
    }

    /// SND.WND, bytes.
    pub(crate) const fn window(&self) -> u64 {
        self.wnd
    }

    /// The largest window that the peer ever offered, bytes.
    pub(crate) const fn max_window(&self) -> u64 {
        self.max_wnd
    }

    /// Sets the peer's window shift.
    pub(crate) const fn set_window_shift(&mut self, shift: u8) {
        self.snd_wscale = shift;
    }

    /// The peer's window shift.
    pub(crate) const fn window_shift(&self) -> u8 {
        self.snd_wscale
    }

    /// Stores the window of a segment, with SND.WL1 and SND.WL2. Returns whether it changed.
    #[inline]
    pub(crate) fn on_window(&mut self, seg: &Segment) -> bool {
        self.set_window(seg, self.snd_wscale)
    }

    /// Stores the window of a SYN or SYN-ACK, which is not scaled (RFC 7323 §2.2).
    pub(crate) fn on_syn_window(&mut self, seg: &Segment) {
        self.set_window(seg, 0);
    }

    #[inline]
    fn set_window(&mut self, seg: &Segment, shift: u8) -> bool {
        let window = u64::from(seg.window) << shift;
        let changed = window != self.wnd;
        self.wnd = window;
        self.wl1 = seg.seq;
        self.wl2 = seg.ack;
        self.max_wnd = self.max_wnd.max(window);
        changed
    }

    /// Returns whether the window of a segment is newer than the one in use, by SND.WL1 and SND.WL2
    /// (RFC 9293 §3.10.7.4).
    #[inline]
    pub(crate) fn window_is_newer(&self, seg: &Segment) -> bool {
        self.wl1.before(seg.seq) || (self.wl1 == seg.seq && !seg.ack.before(self.wl2))
    }

    /// The connection is established.
    pub(crate) const fn establish(&mut self, now: Instant) {
        self.delivered_at = now;
    }

    /// Time of [`Self::establish`], before any data is sent.
    pub(super) const fn established_at(&self) -> Instant {
        self.delivered_at
    }

    /// A segment without ECE arrived.
    #[inline]
    pub(crate) const fn on_no_ece(&mut self) {
        self.last_ece = false;
    }

    /// The persist timer fired: a window probe is due. Returns the number of probes since data was
    /// sent.
    pub(crate) const fn schedule_window_probe(&mut self) -> u32 {
        self.window_probes += 1;
        self.window_probe_due = true;
        self.window_probes
    }

    /// Ends a run of duplicate ACKs. Returns the bytes that limited transmit sent in it.
    #[inline]
    pub(crate) const fn end_limited_transmit(&mut self) -> u64 {
        core::mem::replace(&mut self.limited_transmit_bytes, 0)
    }

    /// Time when data was last sent or first acknowledged; before that, the start.
    pub(crate) fn last_progress(&self) -> Instant {
        self.last_sent_at.unwrap_or_default().max(self.delivered_at)
    }

    /// Counts an ICMP report that lowers the path MTU. Returns false beyond `most`.
    pub(crate) const fn count_pmtu_reduction(&mut self, most: u8) -> bool {
        let allowed = self.pmtu_reductions < most;
        self.pmtu_reductions += allowed as u8;
        allowed
    }
}
