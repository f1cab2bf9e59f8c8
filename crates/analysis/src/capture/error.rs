//! Errors that end the reading of a capture file.

/// The reason why a file could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The system could not read the file.
    #[error("cannot read at offset {offset}: {reason}")]
    Read {
        /// Offset of the failed read in the file, bytes.
        offset: u64,
        /// Error of the system.
        reason: std::io::Error,
    },
    /// The file is neither pcap nor pcapng.
    #[error(
        "this is neither pcap nor pcapng: the file begins with {found}; \
         captures are written by `tcpdump -w FILE`, `dumpcap` or `lowtide pcap`"
    )]
    Format {
        /// The first bytes in hexadecimal, or the note that there are none.
        found: String,
    },
    /// The version of the file format is unknown.
    #[error(
        "{format} version {major}.{minor} at offset {offset} is unknown (known: pcap 2.0 to 2.4, \
         pcapng 1.0 and 1.2); if only the version is wrong, correct it"
    )]
    Version {
        /// `pcap` or `pcapng`.
        format: &'static str,
        /// Major version found.
        major: u16,
        /// Minor version found.
        minor: u16,
        /// Offset of the header in the file, bytes.
        offset: u64,
    },
    /// The file is cut short.
    #[error(
        "the file is cut short: the {what} at offset {offset} needs {need} bytes, {have} are left"
    )]
    Truncated {
        /// The structure that begins at `offset`.
        what: &'static str,
        /// Offset of the structure in the file, bytes.
        offset: u64,
        /// Bytes that the structure needs.
        need: u64,
        /// Bytes that are left.
        have: u64,
    },
    /// A record is malformed.
    #[error("damaged at offset {offset}: {what}")]
    Damaged {
        /// Offset of the record in the file, bytes.
        offset: u64,
        /// The fault of the record.
        what: String,
    },
}
