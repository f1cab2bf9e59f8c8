//! Digest of this program: equal digests, equal runs of equal scenarios.
//!
//! It covers the sources that make and store runs (`build.rs`), and the declarations of all parts,
//! including those that other crates registered: their names, parameters and defaults. It does not
//! cover the code of registered parts, whose author changes a name or a default with the code.
//! Controls in Python are not in it: they are registered after its first call, and the hash of a
//! run covers the code of its control.

use std::sync::LazyLock;

/// Digest of the sources.
const SOURCES: &str = env!("LOWTIDE_SOURCES");

/// Returns the digest, 16 hexadecimal digits. Parts must be registered before the first call.
pub fn program_digest() -> &'static str {
    static DIGEST: LazyLock<String> = LazyLock::new(|| {
        let mut hasher = blake3::Hasher::new();
        hasher.update(SOURCES.as_bytes());
        // The schema of scenario files has every part and every parameter.
        hasher.update(lowtide_scenario::json_schema().to_string().as_bytes());
        hasher.finalize().to_hex().as_str()[..16].to_owned()
    });
    &DIGEST
}
