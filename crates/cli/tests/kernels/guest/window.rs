//! The congestion state of a kernel socket, read from outside: window, ssthresh and the alpha of
//! `dctcp` by `sock_diag`, the alpha of a BPF control by `lowtide_kernel`.

use std::net::Ipv4Addr;

use lowtide_kernel::SocketReader;
use lowtide_testbed::kernel_windows;

/// Congestion state of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Segments.
    pub(super) cwnd: u64,
    /// Segments; `None` before the first reduction.
    pub(super) ssthresh: Option<u64>,
    /// In 1/1024.
    pub(super) alpha: f64,
    /// Retransmission timeout, ms.
    pub(super) rto_ms: u64,
}

/// Reads the state of the socket.
pub(super) struct WindowReader(SocketReader);

impl WindowReader {
    pub(super) fn open() -> Self {
        Self(SocketReader::open().unwrap())
    }

    /// Reads the state of the only connection to `peer`.
    pub(super) fn read(&self, control: &str, peer: Ipv4Addr) -> Window {
        let mut all = kernel_windows().unwrap();
        all.retain(|window| *window.peer.ip() == peer);
        assert!(
            all.len() == 1 && all[0].control == control,
            "not one socket of {control}: {all:?}"
        );
        let window = all.remove(0);
        let alpha = match window.alpha_q20 {
            Some(alpha) => alpha as f64 / 1024.0,
            None => 1024.0 * self.bpf_alpha(control, peer),
        };
        Window {
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            alpha,
            rto_ms: window.rto.unwrap().as_ms(),
        }
    }

    fn bpf_alpha(&self, control: &str, peer: Ipv4Addr) -> f64 {
        let mut sockets = self.0.read().unwrap();
        sockets.retain(|s| s.control == control && s.remote.ip() == peer);
        assert_eq!(sockets.len(), 1, "one socket of {control}");
        sockets[0].alpha
    }
}
