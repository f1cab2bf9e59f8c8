//! The "Linux DCTCP" of the ODCTCP thesis: FreeBSD's arithmetic with the procedures of the first
//! Linux patch, which keeps the congestion-recovery mode and sends no CWR (§4.2.1, §5.1.1, §7.2).

use super::{Profile, set, thesis};

/// Registration.
pub static ENTRY: Profile = Profile {
    name: "thesis-original",
    summary: "ODCTCP thesis: \"Linux DCTCP\", with congestion recovery, no CWR",
    settings: &thesis::join(&[
        set("cwr", "never", "ODCTCP §4.2.1, §5.1.1: DCTCP does not use the CWR flag"),
        set("freeze-growth", "round", "ODCTCP §4.2.1: the congestion recovery mode is kept"),
        set("dctcp.after-idle", "keep", "ODCTCP §4.2.3: the reset is the modification"),
        set("dctcp.grow-with-cut", "false", "ODCTCP §4.2.1: no growth for one RTT"),
    ]),
};
