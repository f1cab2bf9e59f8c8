//! Tests on handmade captures, in one binary to link only once.

mod answers;
mod captures;
mod damage;
mod large;
mod mutations;
mod pair;
mod transfer;
mod vantage;
