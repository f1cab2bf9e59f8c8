//! Buffer limits: the keys `buffer`, `alpha` and `reserved` of any table.

use lowtide_net::BufferSpec;
use lowtide_net::buffer::dynamic;
use lowtide_schema::{Value, Values};

use crate::reader::TableReader;
use crate::toml_writer::TomlWriter;

/// Reads `buffer`; unset properties of a dynamic one are taken from `base`.
pub(super) fn read(r: &mut TableReader<'_, '_, '_>, base: BufferSpec) -> BufferSpec {
    match r.single("buffer") {
        Some(Value::Length(count)) => BufferSpec::Static(count),
        Some(Value::Name("dynamic")) => dynamic(r, base),
        _ => BufferSpec::Unlimited,
    }
}

/// Reads a dynamic buffer; unset properties are taken from `base`, or else are the rule's defaults.
pub(super) fn dynamic(r: &mut TableReader<'_, '_, '_>, base: BufferSpec) -> BufferSpec {
    let of_base = |name: &str| match (base, name) {
        (BufferSpec::Dynamic { alpha, .. }, "alpha") => Some(Value::Ratio(alpha)),
        (BufferSpec::Dynamic { reserved, .. }, "reserved") => Some(Value::Bytes(reserved)),
        _ => None,
    };
    let values = Values::complete(dynamic::ENTRY.params, |param| {
        r.single(param.name).or_else(|| of_base(param.name))
    });
    match values {
        Ok(values) => dynamic::spec(&values),
        Err(error) => {
            r.report(error.param.unwrap_or("buffer"), error.message, error.help);
            base
        }
    }
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
