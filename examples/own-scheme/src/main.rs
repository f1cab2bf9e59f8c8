//! The whole `lowtide` command, with one congestion control more.

// As in `lowtide-tcp`, so that `abe.rs` is a file that could stand in either.
extern crate alloc;

#[expect(unreachable_pub, reason = "it would be public in `crates/tcp/src/cc/`")]
mod abe;

fn main() -> std::process::ExitCode {
    lowtide_tcp::cc::register(&abe::ENTRY).expect("a name that nothing has yet");
    lowtide::main()
}
