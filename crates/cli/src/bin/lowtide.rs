//! The `lowtide` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    lowtide::main()
}
