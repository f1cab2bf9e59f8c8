//! The whole `lowtide` command, with one congestion control more.

#[expect(unreachable_pub, reason = "the file reads as it would in `crates/tcp/src/cc/`")]
mod abe;

fn main() -> std::process::ExitCode {
    lowtide_tcp::cc::register(&abe::ENTRY).expect("a name that nothing has yet");
    lowtide::main()
}
