//! Reading of capture files: formats, link types, damage, and bytes from anywhere.

mod arbitrary_bytes;
mod files;
mod fixtures;
mod links;
mod points;
