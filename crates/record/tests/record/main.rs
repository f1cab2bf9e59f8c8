//! What is written and read back: one binary, so that it is linked once.

mod common;
mod damage;
mod directory;
mod queries;
