//! The system calls of a host's applications, and the roles of its connections.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

use lowtide_units::{Duration, Instant};

use crate::run_state::RunState;
use crate::sockets::{Conn, Sockets};

/// Server port of every host, as in the simulator.
pub(crate) const PORT: u16 = 5001;
/// Bytes that one call reads at most.
const READ_SIZE: usize = 1 << 18;

/// The application of a connection, by its index at the host.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ConnRole {
    /// The client of a flow.
    Flow(usize),
    /// A query client, and the index of its connection.
    Query { client: usize, index: usize },
    /// The server of an accepted connection.
    Server(usize),
}

/// Bytes that an application has read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    /// All that it waits for, if known.
    pub(crate) size: Option<u64>,
    pub(crate) bytes: u64,
    /// Bytes read before the end of the warm-up.
    pub(crate) warmup_bytes: u64,
    /// Time at which the last byte was read.
    pub(crate) completed_at: Option<Instant>,
}

/// The sockets, the run and the connections of a host.
pub(crate) struct AppContext<'a> {
    pub(crate) sockets: &'a mut dyn Sockets,
    pub(crate) run_state: &'a RunState,
    address: Ipv4Addr,
    /// End of the warm-up.
    warm: Instant,
    roles: Vec<Option<ConnRole>>,
    read_buffer: Vec<u8>,
}

impl<'a> AppContext<'a> {
    pub(crate) fn new(
        sockets: &'a mut dyn Sockets,
        run_state: &'a RunState,
        address: Ipv4Addr,
        warmup: Duration,
    ) -> Self {
        let (warm, roles, read_buffer) = (Instant::ZERO + warmup, Vec::new(), vec![0; READ_SIZE]);
        Self { sockets, run_state, address, warm, roles, read_buffer }
    }

    pub(crate) fn now(&self) -> Instant {
        self.run_state.now()
    }

    pub(crate) fn role(&self, conn: Conn) -> Option<ConnRole> {
        self.roles.get(conn).copied().flatten()
    }

    pub(crate) fn set_role(&mut self, conn: Conn, role: ConnRole) {
        self.roles.resize(self.roles.len().max(conn + 1), None);
        self.roles[conn] = Some(role);
    }

    /// Starts to open connection `number` of the run; returns it and its port.
    pub(crate) fn connect(
        &mut self,
        number: u32,
        to: Ipv4Addr,
        role: ConnRole,
    ) -> io::Result<(Conn, u16)> {
        let (conn, port) = self.sockets.connect(SocketAddrV4::new(to, PORT))?;
        self.run_state.on_opened(SocketAddrV4::new(self.address, port), number);
        self.set_role(conn, role);
        Ok((conn, port))
    }

    /// Reads what has arrived; returns true at the end of the stream.
    pub(crate) fn read(&mut self, conn: Conn, received: &mut Received) -> io::Result<bool> {
        while let Some(n) = self.sockets.get(conn)?.read(&mut self.read_buffer)? {
            if n == 0 {
                return Ok(true);
            }
            let now = self.run_state.now();
            received.bytes += n as u64;
            if now < self.warm {
                received.warmup_bytes = received.bytes;
            }
            if received.size.is_some_and(|size| received.bytes >= size) {
                received.completed_at.get_or_insert(now);
            }
        }
        Ok(false)
    }
}
