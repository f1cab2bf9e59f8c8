//! The kernel's release, as manifests name it.

/// Release and machine type of the kernel.
pub(crate) fn release() -> String {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/sys/kernel/{name}"));
    let text = |name| read(name).unwrap_or_default().trim().to_owned();
    format!("{} {}", text("osrelease"), std::env::consts::ARCH)
}
