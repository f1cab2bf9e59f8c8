//! Reads the state of one end of a connection, from any thread of the run.

use std::io;
use std::net::SocketAddrV4;
use std::sync::Arc;

use lowtide_live::StreamObserver;

use crate::kernel::diag::DiagHandle;
use crate::socket_info::SocketInfo;

/// One end of a connection.
pub(crate) enum SocketObserver {
    /// Of the kernel's TCP.
    Kernel {
        /// Of the end's namespace.
        diag: Arc<DiagHandle>,
        local: SocketAddrV4,
        peer: SocketAddrV4,
    },
    /// Of lowtide's TCP.
    Lowtide(StreamObserver),
}

impl SocketObserver {
    /// A snapshot; `None` once the end is released.
    pub(crate) fn info(&self) -> io::Result<Option<SocketInfo>> {
        match self {
            Self::Kernel { diag, local, peer } => diag.find(*local, *peer),
            Self::Lowtide(stream) => Ok(stream.info().map(|(info, unacknowledged)| SocketInfo {
                unacknowledged: Some(unacknowledged),
                ..SocketInfo::from_lowtide(&info)
            })),
        }
    }
}
