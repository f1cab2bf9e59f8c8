//! Operations on the kernel, with the BPF programs of `kernel/`.

mod bottleneck;
mod bpffs;
mod features;
mod kernel;
mod list;
mod load;
mod namespaces;
mod objects;
mod register;
mod routes;
mod select;
mod sockets;
mod unload;

pub use bottleneck::KernelBottleneck;
pub use kernel::untested_release;
pub use list::list;
pub use load::load;
pub use register::register_object;
pub use select::select;
pub use sockets::SocketReader;
pub use unload::unload;
