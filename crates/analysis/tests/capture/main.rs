//! Tests of the capture reader: formats, link types, damage, and arbitrary bytes.

mod compressed;
mod files;
mod fixtures;
mod fragments;
mod links;
mod points;
mod tunnels;
