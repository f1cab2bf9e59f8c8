//! The BPF controls in kernels of Debian, in a virtual machine: beside the kernel's own DCTCP, and
//! on kernels that cannot load them. `cargo xtask suite debian-kernel` runs it.
//!
//! This program is also process 1 of the machine ([`guest`]), which prints lines of JSON.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tests print what they measured")]

mod comparison;
mod guest;
mod initramfs;
mod machine;
mod packages;
mod refusals;

use std::process::ExitCode;

use lowtide_test_needs::{Need, run_tests, tests};

/// The suite downloads kernels, so `cargo test` does not run it.
const SUITE: Need = Need {
    name: "LOWTIDE_DEBIAN_KERNEL=1",
    probe: || {
        let set = is_selected().then_some(());
        set.ok_or_else(|| "not set; `cargo xtask suite debian-kernel` sets it".to_owned())
    },
    enforceable: false,
};

fn is_selected() -> bool {
    std::env::var("LOWTIDE_DEBIAN_KERNEL").is_ok_and(|value| value == "1")
}

/// A binary with BPF programs.
const PROGRAMS: Need = Need {
    name: "BPF programs",
    probe: || {
        let built = cfg!(feature = "kernel");
        built.then_some(()).ok_or_else(|| "this build has no feature `kernel`".to_owned())
    },
    enforceable: false,
};

/// Programs of Debian packages that the machine is made and run with; only the suite needs them.
const TOOLS: Need = Need {
    name: "apt-get install qemu-system-x86 busybox-static kmod xz-utils binutils iproute2",
    probe: || if is_selected() { machine::tools() } else { Ok(()) },
    enforceable: true,
};

fn main() -> ExitCode {
    if std::process::id() == 1 {
        guest::main();
    }
    run_tests([tests!(&[SUITE, PROGRAMS, TOOLS];
        comparison::lt_dctcp_follows_tcp_dctcp,
        comparison::bulk_flows_have_equal_windows,
        refusals::an_old_kernel_is_named,
        refusals::names_type_information_and_modules,
    )])
}
