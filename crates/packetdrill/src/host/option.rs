//! Socket options that scripts read and set.

/// A socket option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SocketOption {
    /// SO_ERROR: the pending error, cleared by reading it.
    Error,
    /// SO_REUSEADDR or SO_REUSEPORT: accepted, without effect.
    Reuse,
    /// SO_LINGER.
    Linger,
    /// SO_SNDBUF, bytes. Not doubled as on Linux; before the connection only.
    SendBuffer,
    /// SO_RCVBUF, bytes. Not doubled as on Linux; before the connection only.
    ReceiveBuffer,
    /// TCP_NODELAY.
    NoDelay,
    /// TCP_MAXSEG; before the connection only.
    MaxSegment,
    /// TCP_CONGESTION; before the connection only.
    Congestion,
}

impl SocketOption {
    /// Finds an option by level and name, as C and scripts write them.
    pub fn named(level: &str, name: &str) -> Option<Self> {
        let tcp = matches!(level, "SOL_TCP" | "IPPROTO_TCP");
        let socket = level == "SOL_SOCKET";
        Some(match name {
            "SO_ERROR" if socket => Self::Error,
            "SO_REUSEADDR" | "SO_REUSEPORT" if socket => Self::Reuse,
            "SO_LINGER" if socket => Self::Linger,
            "SO_SNDBUF" if socket => Self::SendBuffer,
            "SO_RCVBUF" if socket => Self::ReceiveBuffer,
            "TCP_NODELAY" if tcp => Self::NoDelay,
            "TCP_MAXSEG" if tcp => Self::MaxSegment,
            "TCP_CONGESTION" if tcp => Self::Congestion,
            _ => return None,
        })
    }
}

/// The value of a socket option.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SocketValue {
    /// A number.
    Int(i32),
    /// SO_LINGER: on or off, and seconds.
    Linger {
        /// True if it is on.
        on: bool,
        /// Maximum wait of `close`.
        seconds: u32,
    },
    /// A string.
    Text(String),
}
