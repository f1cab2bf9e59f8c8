//! What must hold for every input of a kind: reassembly and SACK blocks against maps of bytes, and
//! DCTCP's alpha over every value that it can take. The scoreboard's model stands beside it, the
//! sequence space is tested in `wire`.

mod alpha;
mod receiver;
