//! Listeners and streams, similar to those of the standard library.

mod listener;
mod live;
mod nonblocking;
mod poller;
mod stream;

pub use listener::Listener;
pub use live::{Live, LiveSettings, LiveStats, PreparedHost, config};
pub use nonblocking::NonblockingSocket;
pub use poller::{Poller, Ready};
pub use stream::{Stream, StreamObserver};
