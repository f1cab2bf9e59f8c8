//! Refuses interpreters that the extension does not support.

fn main() {
    if pyo3_build_config::get().is_free_threaded() {
        println!(
            "cargo::error=lowtide does not support free-threaded Python (3.13t, 3.14t): \
             use the build of Python with the GIL"
        );
    }
}
