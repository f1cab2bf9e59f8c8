//! Why a capture file cannot be read, or not any further.

/// What ended a file before its end.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The system could not read it.
    #[error("cannot read at offset {offset}: {reason}")]
    Read {
        /// Where, in bytes from the start of the file.
        offset: u64,
        /// What the system said.
        reason: std::io::Error,
    },
    /// It has another format.
    #[error(
        "this is neither pcap nor pcapng: the file begins with {found}; \
         captures are written by `tcpdump -w FILE`, `dumpcap` or `lowtide pcap`"
    )]
    Format {
        /// The first bytes, in hexadecimal, or that there are none.
        found: String,
    },
    /// It is cut short.
    #[error(
        "the file is cut short: the {what} at offset {offset} needs {need} bytes, {have} are left"
    )]
    Truncated {
        /// What begins there.
        what: &'static str,
        /// Where it begins.
        offset: u64,
        /// Bytes that it needs.
        need: u64,
        /// Bytes that are left.
        have: u64,
    },
    /// The bytes make no sense.
    #[error("damaged at offset {offset}: {what}")]
    Damaged {
        /// Where.
        offset: u64,
        /// What is wrong.
        what: String,
    },
}
