//! JSON files that end with the hash of their content.
//!
//! The last member `"blake3"` is the hash of all bytes before its leading comma. A truncated or
//! modified file does not match it.

use serde::Serialize;

/// Text before and after the hash.
const HASH_PREFIX: &str = ",\n  \"blake3\": \"";
const HASH_SUFFIX: &str = "\"\n}\n";

/// End of the text of a JSON object.
const END: &str = "\n}";

/// Serialises `value`, which must be an object with members, as pretty JSON with its hash.
pub(crate) fn with_content_hash<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(value)?;
    if text.ends_with(END) {
        text.truncate(text.len() - END.len());
    }
    let hash = blake3::hash(text.as_bytes()).to_hex();
    text.push_str(HASH_PREFIX);
    text.push_str(hash.as_str());
    text.push_str(HASH_SUFFIX);
    Ok(text.into_bytes())
}

/// Integrity of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HashCheck {
    /// Content and hash match.
    Valid,
    /// Content and hash differ.
    Mismatch,
    /// It does not end with a hash.
    Missing,
}

/// Compares a file's content with its hash.
pub(crate) fn verify(content: &[u8]) -> HashCheck {
    let split = || {
        let (text, hash) =
            content.strip_suffix(HASH_SUFFIX.as_bytes())?.split_last_chunk::<64>()?;
        Some((text.strip_suffix(HASH_PREFIX.as_bytes())?, hash))
    };
    match split() {
        Some((text, hash)) if blake3::hash(text).to_hex().as_bytes() == hash => HashCheck::Valid,
        Some(_) => HashCheck::Mismatch,
        None => HashCheck::Missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_and_every_truncation_is_detected() {
        let value = serde_json::json!({ "schema": "x/2", "runs": [{ "run": 1 }], "note": "ü" });
        let whole = with_content_hash(&value).unwrap();
        assert_eq!(verify(&whole), HashCheck::Valid);
        let read: serde_json::Value = serde_json::from_slice(&whole).unwrap();
        assert_eq!(read["runs"][0]["run"], 1);
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(verify(&damaged), HashCheck::Valid, "bit {bit}");
        }
        for cut in 0..whole.len() {
            assert_ne!(verify(&whole[..cut]), HashCheck::Valid, "cut at {cut}");
        }
        let plain = serde_json::to_vec_pretty(&value).unwrap();
        assert_eq!(verify(&plain), HashCheck::Missing);
    }
}
