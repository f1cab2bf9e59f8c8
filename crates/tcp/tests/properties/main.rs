//! Properties of all inputs of a kind: reassembly and SACK blocks against maps of bytes, and
//! DCTCP's alpha over all its values. The scoreboard has its model test in its own folder; `wire`
//! tests the sequence space.

mod alpha;
mod receiver;
