//! Builds again when an experiment is added: their files are embedded.

fn main() {
    println!("cargo::rerun-if-changed=../../papers");
}
