//! The whole `lowtide` command with one additional congestion control.

// As in `lowtide-tcp`, so that `abe.rs` compiles unchanged in either.
extern crate alloc;

#[expect(unreachable_pub, reason = "it would be public in `crates/tcp/src/cc/`")]
mod abe;
#[cfg(test)]
mod conformance;

fn main() -> std::process::ExitCode {
    lowtide_tcp::cc::register(&abe::ENTRY).expect("a name that nothing has yet");
    lowtide::main()
}
