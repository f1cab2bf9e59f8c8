//! Tests on handmade captures, in one binary to link only once.

mod captures;
mod damage;
mod large;
mod pair;
mod transfer;
mod vantage;
