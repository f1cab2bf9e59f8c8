//! Reading of capture files: formats, link types, damage, and bytes from anywhere.

mod anything;
mod files;
mod links;
mod make;
mod points;
