//! Kinds of networks.

/// The network of a testbed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BottleneckKind {
    /// The simulator's network in a thread of ours.
    #[default]
    User,
    /// Devices and shapers of the kernel, with a BPF program or a qdisc that marks.
    Kernel,
    /// As `Kernel`, with a codel queue for each flow.
    KernelFqCodel,
}
