//! Tests of the capture reader: formats, link types, damage, and arbitrary bytes.

mod arbitrary_bytes;
mod files;
mod fixtures;
mod links;
mod points;
