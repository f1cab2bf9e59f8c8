//! Compiles the BPF programs of `kernel/`, if the feature `objects` is on.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Sources without the extension `.bpf.c`.
const PROGRAMS: [&str; 8] = [
    "bottleneck",
    "lt_dctcp",
    "lt_odctcp",
    "lt_odctcp_rcv",
    "lt_odctcp_snd",
    "lt_tdctcp",
    "select",
    "sockets",
];

fn main() {
    let sources = Path::new("../../kernel");
    println!("cargo:rerun-if-changed={}", sources.display());
    if std::env::var_os("CARGO_FEATURE_OBJECTS").is_none() {
        return;
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    for program in PROGRAMS {
        compile(sources, program, &out.join(format!("{program}.bpf.o")));
    }
}

/// Compiles one program. CO-RE: the types of `kernel.bpf.h` name the fields, and libbpf finds their
/// offsets in the BTF of the kernel that loads the program.
fn compile(sources: &Path, program: &str, object: &Path) {
    let architecture = match std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("aarch64") => "-D__TARGET_ARCH_arm64",
        _ => "-D__TARGET_ARCH_x86",
    };
    let status = Command::new("clang")
        .current_dir(sources)
        .args(["-O2", "-g", "-mcpu=v3", "-target", "bpf", architecture, "-Wall", "-Werror"])
        .args(["-I.", "-c", &format!("{program}.bpf.c"), "-o"])
        .arg(object)
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("clang failed on kernel/{program}.bpf.c: {status}"),
        Err(error) => panic!(
            "cannot run clang ({error}): install clang and libbpf-dev, or build without the \
             feature `kernel`"
        ),
    }
}
