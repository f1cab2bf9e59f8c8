//! Buffer limits: the keys `buffer`, `alpha` and `reserved` of any table.

use lowtide_net::{BufferSpec, Ratio};
use lowtide_units::Bytes;

use crate::reader::TableReader;
use crate::toml_writer::TomlWriter;
use lowtide_schema::Value;

/// Default factor of a dynamic buffer.
const ALPHA: u32 = 1;

/// Reads `buffer`; unset properties of a dynamic one are taken from `base`.
pub(super) fn read(r: &mut TableReader<'_, '_, '_>, base: BufferSpec) -> BufferSpec {
    match r.single("buffer") {
        Some(Value::Length(count)) => BufferSpec::Static(count),
        Some(Value::Name("dynamic")) => dynamic(r, base),
        _ => BufferSpec::Unlimited,
    }
}

/// Reads a dynamic buffer; unset properties are taken from `base`.
pub(super) fn dynamic(r: &mut TableReader<'_, '_, '_>, base: BufferSpec) -> BufferSpec {
    let (alpha, reserved) = match base {
        BufferSpec::Dynamic { alpha, reserved } => (Some(alpha), reserved),
        BufferSpec::Unlimited | BufferSpec::Static(_) => (Ratio::new(ALPHA, 1), Bytes::default()),
    };
    let alpha = match r.single("alpha") {
        Some(Value::Ratio(alpha)) => Some(alpha),
        _ => alpha,
    };
    let reserved = r.size("reserved").unwrap_or(reserved);
    alpha.map_or(BufferSpec::Unlimited, |alpha| BufferSpec::Dynamic { alpha, reserved })
}

/// Writes these keys.
pub(super) fn write(out: &mut TomlWriter, buffer: &BufferSpec) {
    match buffer {
        BufferSpec::Unlimited => out.text("buffer", "unlimited"),
        BufferSpec::Static(count) => out.text("buffer", *count),
        BufferSpec::Dynamic { alpha, reserved } => {
            out.text("buffer", "dynamic");
            out.text("alpha", *alpha);
            // A written size is at least one byte, so zero is left out.
            let some = Some(reserved).filter(|r| r.as_u64() > 0);
            out.optional("reserved", some);
        }
    }
}
