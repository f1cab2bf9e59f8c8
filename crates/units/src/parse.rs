//! Quantities as people write them: `"10us"`, `"30 kB"`, `"10 Gbit/s"`, `"20 pkt"`.

use alloc::string::{String, ToString};
use core::fmt;

use crate::{Bytes, Duration, Rate};

/// Why a text is not the quantity that was asked for, with what would be right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseUnitError {
    message: String,
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for ParseUnitError {}

/// Reads a span of time: `ps`, `ns`, `us`, `ms`, `s`, `min`.
pub fn parse_duration(text: &str) -> Result<Duration, ParseUnitError> {
    let _ = text;
    Err(ParseUnitError { message: "not written yet".to_string() })
}

/// Reads a size: `B`, `kB`, `MB`, `GB` (powers of 1000), `KiB`, `MiB`, `GiB` (powers of 1024).
pub fn parse_bytes(text: &str) -> Result<Bytes, ParseUnitError> {
    let _ = text;
    Err(ParseUnitError { message: "not written yet".to_string() })
}

/// Reads a rate: `bit/s`, `kbit/s`, `Mbit/s`, `Gbit/s`, `Tbit/s` and the spellings `Gbps`, `gbit`.
pub fn parse_rate(text: &str) -> Result<Rate, ParseUnitError> {
    let _ = text;
    Err(ParseUnitError { message: "not written yet".to_string() })
}

/// Reads a number of packets: `"20 pkt"`, `"20 packets"`.
pub fn parse_packets(text: &str) -> Result<u64, ParseUnitError> {
    let _ = text;
    Err(ParseUnitError { message: "not written yet".to_string() })
}
