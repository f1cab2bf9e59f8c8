//! Arithmetic and parsing of units: one binary, so that it is linked once.

mod arithmetic;
mod parse;
