//! Sets `real_packets`: the target is Linux and the feature `live` is on.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(real_packets)");
    let is_set = |name: &str| std::env::var_os(name).is_some();
    let is_linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    if is_linux && is_set("CARGO_FEATURE_LIVE") {
        println!("cargo::rustc-cfg=real_packets");
    }
}
