//! The language, its interpreter and our scripts: one binary, so that it is linked once.

mod interpreter;
mod language;
mod scripts;
mod stock;
mod stock_grammar;
