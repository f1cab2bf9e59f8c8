//! Lengths of queues.

use alloc::format;
use core::fmt;

use crate::{Bytes, ParseUnitError, parse_bytes, parse_packets};

/// A queue length, threshold or buffer size, in packets or in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueLength {
    /// Packets of any size.
    Packets(u64),
    /// Bytes of IP packets, framing excluded.
    Bytes(Bytes),
}

impl QueueLength {
    /// Parses a queue length: `"20 pkt"`, `"30 kB"`.
    ///
    /// # Errors
    /// A missing or unknown unit, or a fraction of a packet or byte.
    pub fn parse(text: &str) -> Result<Self, ParseUnitError> {
        if text.contains("pkt") || text.contains("packet") {
            return parse_packets(text).map(Self::Packets);
        }
        if text.trim().parse::<f64>().is_ok() {
            return Err(ParseUnitError::new(format!(
                "`{text}` has no unit; write \"{text} pkt\" for packets or \"{text} B\" for bytes"
            )));
        }
        parse_bytes(text).map(Self::Bytes)
    }
}

impl fmt::Display for QueueLength {
    /// Prints `20 pkt` or `30 kB`. Reading it back is lossless.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(n) => write!(f, "{n} pkt"),
            Self::Bytes(n) => write!(f, "{n}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn lengths_read_back_and_need_a_unit() {
        for text in ["20 pkt", "30 kB", "1500 B"] {
            assert_eq!(QueueLength::parse(text).unwrap().to_string(), text);
        }
        let error = QueueLength::parse("30").unwrap_err().to_string();
        assert!(error.contains("\"30 pkt\"") && error.contains("\"30 B\""), "{error}");
        assert!(QueueLength::parse("20 ms").is_err());
    }
}
