//! BPF twins of the congestion controls in the running Linux kernel.
