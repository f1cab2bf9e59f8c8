//! What a port may hold: the key `buffer`, wherever it stands.

use lowtide_net::BufferSpec;

use crate::reader::Reader;
use crate::text::Text;
use crate::value::show;

/// What `buffer` says.
pub(super) fn read(r: &mut Reader<'_, '_, '_>) -> BufferSpec {
    match r.length("buffer") {
        Some(count) => BufferSpec::Static(count),
        None => BufferSpec::Unlimited,
    }
}

/// Writes `buffer` out.
pub(super) fn write(out: &mut Text, buffer: &BufferSpec) {
    match buffer {
        BufferSpec::Unlimited => out.text("buffer", "unlimited"),
        BufferSpec::Static(count) => out.text("buffer", show(*count)),
        // No key makes it yet.
        BufferSpec::Dynamic { .. } => {}
    }
}
