//! Tests of the language, the interpreter and our scripts, in one binary that is linked once.

mod interpreter;
mod language;
mod scripts;
mod stock;
mod stock_grammar;
