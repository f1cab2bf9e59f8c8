//! The whole `lowtide` command with the congestion control `capped`.

use std::process::ExitCode;

mod capped;

fn main() -> ExitCode {
    if let Err(error) = lowtide_tcp::cc::REGISTRY.register(&capped::ENTRY) {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    lowtide::main()
}

#[cfg(test)]
mod tests {
    #[test]
    fn capped_does_what_it_declares() {
        assert_eq!(lowtide_conformance::check(&super::capped::ENTRY), []);
    }
}
