//! Round trips of results: one binary, so that it is linked once.

mod common;
mod damage;
mod directory;
mod queries;
mod swept;
