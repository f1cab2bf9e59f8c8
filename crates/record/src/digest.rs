//! Digests as text, and one digest for many runs.

/// A digest as in the tables and JSON: 16 hexadecimal digits.
pub fn hex(digest: u64) -> String {
    format!("{digest:016x}")
}

/// Combines the digests of several runs. The result depends on each digest and on their order,
/// which is plan order, not the order of completion.
pub fn combine<'a>(digests: impl IntoIterator<Item = &'a str>) -> String {
    let mut hasher = blake3::Hasher::new();
    for digest in digests {
        hasher.update(digest.as_bytes());
        hasher.update(b"\n");
    }
    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    hex(u64::from_be_bytes(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_runs_counts() {
        assert_eq!(hex(0xab), "00000000000000ab");
        assert_ne!(combine(["1", "2"]), combine(["2", "1"]));
        assert_ne!(combine(["12"]), combine(["1", "2"]));
        assert_eq!(combine(["1", "2"]).len(), 16);
    }
}
