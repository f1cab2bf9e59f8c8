//! Tests of the language, the interpreter and our scripts, in one binary that is linked once.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tests print what they measured")]

mod interpreter;
mod language;
mod scripts;
