//! Backend of the command line.

use lowtide_lab::Backend;

#[cfg(real_packets)]
use crate::args::BottleneckArg;
use crate::args::{BackendArg, RealArgs};
use crate::error::CommandError;

/// Returns the selected backend; `None` is the simulator.
pub(crate) fn backend(
    arg: BackendArg,
    real: &RealArgs,
) -> Result<Option<Box<dyn Backend>>, CommandError> {
    let needs = |option: &str, backend: &str| {
        CommandError::Usage(format!("`{option}` needs `--backend {backend}`"), None)
    };
    if arg != BackendArg::Live && !real.kernel_hosts.is_empty() {
        return Err(needs("--kernel-hosts", "live"));
    }
    if arg != BackendArg::Kernel && !real.our_hosts.is_empty() {
        return Err(needs("--our-hosts", "kernel"));
    }
    if arg != BackendArg::Kernel && real.bottleneck.is_some() {
        return Err(needs("--bottleneck", "kernel"));
    }
    if arg == BackendArg::Sim {
        return match (real.kernel_cc.first(), real.tries) {
            (Some(_), _) => Err(needs("--kernel-cc", "kernel")),
            (None, Some(_)) => Err(needs("--tries", "live` or `kernel")),
            (None, None) => Ok(None),
        };
    }
    real_packets(arg, real).map(Some)
}

/// Pairs of our congestion controls and the kernel's that replace them.
#[cfg(real_packets)]
pub(super) fn controls(real: &RealArgs) -> Result<Vec<(String, String)>, CommandError> {
    let one = |text: &String| {
        let (ours, kernels) = super::split(text, "--kernel-cc", "OURS=KERNEL")?;
        Ok((ours.to_owned(), kernels.to_owned()))
    };
    real.kernel_cc.iter().map(one).collect()
}

/// The network of an option.
#[cfg(real_packets)]
pub(super) fn bottleneck(arg: Option<BottleneckArg>) -> lowtide_testbed::BottleneckKind {
    use lowtide_testbed::BottleneckKind;
    match arg {
        Some(BottleneckArg::Kernel) => BottleneckKind::Kernel,
        Some(BottleneckArg::KernelFqCodel) => BottleneckKind::KernelFqCodel,
        Some(BottleneckArg::User) | None => BottleneckKind::User,
    }
}

#[cfg(real_packets)]
fn real_packets(arg: BackendArg, real: &RealArgs) -> Result<Box<dyn Backend>, CommandError> {
    use lowtide_testbed::{StackChoice, StackKind, Testbed};
    let controls = controls(real)?;
    let (all, except) = match arg {
        BackendArg::Kernel => (StackKind::Kernel, real.our_hosts.clone()),
        BackendArg::Sim | BackendArg::Live => (StackKind::Lowtide, real.kernel_hosts.clone()),
    };
    let choice = StackChoice { default_stack: all, exceptions: except, cc_mapping: controls };
    let bottleneck = bottleneck(real.bottleneck);
    Ok(Box::new(Testbed::new(choice).bottleneck(bottleneck).tries(real.tries.unwrap_or(1))))
}

#[cfg(not(real_packets))]
fn real_packets(_: BackendArg, _: &RealArgs) -> Result<Box<dyn Backend>, CommandError> {
    Err(CommandError::Usage("this build has no real packets: they need Linux and the cargo feature `live`, which is on by default".to_owned(), None))
}
