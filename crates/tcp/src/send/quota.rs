//! Permission for full segments, from the last send decision.

/// Data and congestion window left after the last send decision. Valid until a segment arrives, a
/// timer fires or the application calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendQuota {
    /// Unsent bytes that fit the peer's window, less one: the last byte is excluded.
    data: u32,
    /// Bytes left in the congestion window.
    room: u32,
    /// Sending is not paced.
    pub(super) unpaced: bool,
    /// There is no data, neither in flight nor to send, and the limit is recorded.
    pub(super) idle: bool,
}

/// Result of [`SendQuota::check`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum QuotaCheck {
    /// A full segment may be sent, and more data follows it.
    FullSegment,
    /// The congestion window has no room for a segment.
    CwndLimited,
    /// The quota does not decide; the full checks must run.
    Unknown,
}

impl SendQuota {
    pub(crate) const UNKNOWN: Self = Self { data: 0, room: 0, unpaced: false, idle: false };
    pub(super) const IDLE: Self = Self { idle: true, ..Self::UNKNOWN };

    /// Full segments of `mss` bytes that may leave now, at least one, from `data` unsent bytes and
    /// `room` bytes of congestion window. A segment with the last byte counts only if it is the
    /// first.
    #[inline]
    pub(super) fn segments(mss: u32, data: u64, room: u64) -> u32 {
        let bytes = data.saturating_sub(1).min(room).min(u64::from(u32::MAX)) as u32;
        bytes.checked_div(mss).unwrap_or(0).max(1)
    }

    /// The quota after `sent` bytes of unpaced full segments of `mss` bytes, from `data` unsent
    /// bytes and `room` bytes of congestion window.
    pub(super) fn after(sent: u64, mss: u64, data: u64, room: u64) -> Self {
        let (data, room) = (data.saturating_sub(sent + 1), room.saturating_sub(sent));
        // Room beyond `u32::MAX` is clamped; then `data` runs out first and the full checks run
        // again.
        let most = u64::from(u32::MAX);
        let (data, room) = (data.min(most - mss) as u32, room.min(most) as u32);
        Self { data, room, unpaced: true, idle: false }
    }

    #[inline]
    pub(super) const fn check(&self, mss: u32) -> QuotaCheck {
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
    pub(super) const fn consume(&mut self, mss: u32) {
        self.data -= mss;
        self.room -= mss;
    }
}
