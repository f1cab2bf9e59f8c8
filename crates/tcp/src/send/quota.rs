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
    /// A larger burst is awaited (switch `tso-defer`), and the limit is recorded.
    Deferred,
    /// The quota does not decide; the full checks must run.
    Unknown,
}

impl SendQuota {
    pub(crate) const UNKNOWN: Self = Self { data: 0, room: 0, unpaced: false, idle: false };
    pub(super) const IDLE: Self = Self { idle: true, ..Self::UNKNOWN };

    /// The quota for unpaced full segments of `mss` bytes, from `data` unsent bytes that fit the
    /// peer's window and `room` bytes of congestion window.
    #[inline]
    pub(super) fn new(mss: u32, data: u64, room: u64) -> Self {
        // Room beyond `u32::MAX` is clamped; then `data` runs out first and the full checks run
        // again.
        let (data, room) = (data.saturating_sub(1), room.min(u64::from(u32::MAX)) as u32);
        let data = data.min(u64::from(u32::MAX - mss)) as u32;
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

    /// Uses the quota for full segments, at most `most` and at least one, which it must permit.
    /// Returns their number.
    #[inline]
    pub(super) fn take(&mut self, mss: u32, most: u32) -> u32 {
        let mut segments = 1;
        if most > 1 {
            segments = (self.data.min(self.room) / mss.max(1)).clamp(1, most);
        }
        self.data -= segments * mss;
        self.room -= segments * mss;
        segments
    }
}
