//! Base of all numbers: everything in a transcript is relative to an [`Origin`].

use lowtide_wire::SeqNum;

/// Initial sequence numbers and timestamp offsets of both sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    /// Initial sequence number of the side under test.
    pub(crate) isn: SeqNum,
    /// Initial sequence number of its peer.
    pub(crate) irs: SeqNum,
    /// TSval of the side under test at time zero.
    pub(crate) ts_local: u32,
    /// TSval of its peer at time zero.
    pub(crate) ts_remote: u32,
}

const fn origin(isn: u32, irs: u32, ts_local: u32, ts_remote: u32) -> Origin {
    Origin { isn: SeqNum::new(isn), irs: SeqNum::new(irs), ts_local, ts_remote }
}

/// Small numbers; the wrap at SYN, at the first byte, inside the first segment and some segments
/// later; the change of sign.
const ORIGINS: [Origin; 6] = [
    origin(1000, 5000, 100_000, 700_000),
    origin(u32::MAX, u32::MAX, u32::MAX, u32::MAX),
    origin(u32::MAX - 1, 0, 0, u32::MAX - 5),
    origin(u32::MAX - 500, u32::MAX - 700, u32::MAX - 20, 1),
    origin(u32::MAX - 3_300, u32::MAX - 2_600, i32::MAX as u32, u32::MAX - 300),
    origin(i32::MAX as u32 - 1_200, i32::MAX as u32 - 2_400, u32::MAX - 1_100, i32::MAX as u32 - 3),
];

/// Runs `test` at every origin; a failure prints the origin.
pub(crate) fn at_every_origin(mut test: impl FnMut(Origin)) {
    struct Name(Origin);
    impl Drop for Name {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("failed at {:?}", self.0);
            }
        }
    }
    for origin in ORIGINS {
        let name = Name(origin);
        test(origin);
        drop(name);
    }
}
