//! Compiles a C program of `kernel/` for this machine and runs it over a script.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Compiles `source` with more `arguments`; returns the program `name`.
pub(crate) fn compile(name: &str, source: &str, arguments: &[String]) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let output = Command::new("cc")
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel"))
        .args(["-std=gnu11", "-O1", "-Wall", "-Werror", "-Wno-unused-function", "-I."])
        .args(["-DLOWTIDE_HOST", source])
        .args(arguments)
        .arg("-o")
        .arg(&program)
        .output()
        .expect("a C compiler, which Rust needs as a linker");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Returns what the program prints for a script.
pub(crate) fn answers(program: &Path, script: &str) -> String {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the driver starts");
    let mut input = child.stdin.take().expect("piped");
    let output = std::thread::scope(|scope| {
        let writer = scope.spawn(move || input.write_all(script.as_bytes()));
        let output = child.wait_with_output().expect("it ends");
        writer.join().expect("no panic").expect("it reads everything");
        output
    });
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("ASCII")
}
