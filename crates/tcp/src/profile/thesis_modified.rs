//! The "FreeBSD DCTCP" of the ODCTCP thesis: no congestion-recovery mode, alpha reset after idle,
//! and CWR.
//!
//! The one-sided variants of chapter 5 are the schemes `odctcp`, `odctcp-sender` and
//! `odctcp-receiver` on top of it.

use super::{Profile, set, thesis};

/// Registration.
pub static ENTRY: Profile = Profile {
    name: "thesis-modified",
    summary: "ODCTCP thesis: \"FreeBSD DCTCP\", no congestion recovery, alpha reset after idle",
    settings: &thesis::join(&[
        set("cwr", "after-reduction", "ODCTCP §4.2.1: CWR after a reduction"),
        set("freeze-growth", "off", "ODCTCP §4.2.1: no congestion recovery mode"),
        set("dctcp.after-idle", "reset", "ODCTCP §4.2.3"),
        set("dctcp.grow-with-cut", "true", "ODCTCP §4.2.1: the ACK is processed as any other"),
    ]),
};
