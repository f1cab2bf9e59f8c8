//! Operations on the kernel, with the BPF programs of `kernel/`.

mod bpffs;
mod kernel;
mod list;
mod load;
mod objects;
mod routes;
mod select;
mod sockets;
mod unload;

pub use kernel::set_default;
pub use list::list;
pub use load::load;
pub use routes::select_for_route;
pub use select::select_for_cgroup;
pub use sockets::sockets;
pub use unload::unload;
