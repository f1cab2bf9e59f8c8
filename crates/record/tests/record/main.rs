//! Round trips of results: one binary, so that it is linked once.

mod common;
mod damage;
mod directory;
mod old_names;
mod queries;
mod swept;
