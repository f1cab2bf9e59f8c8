//! Applications of one host: clients that write their flows, and the server that reads all data.
//!
//! Contract: as in the simulator. A client opens its connection when its flow starts, or early,
//! writes, and closes its send direction; the server reads at once. No socket is closed before the
//! run ends, so that both ends can be queried. A flow is delivered when the server's application
//! has read its last byte.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

use lowtide_tcp::CloseReason;
use lowtide_units::{Duration, Instant};

use crate::run_state::RunState;
use crate::socket_info::SocketInfo;
use crate::sockets::{Conn, SocketEvent, Sockets};
use crate::writer::{ACK_POLL_INTERVAL, FlowWriter};

/// Server port of every host, as in the simulator.
pub(crate) const PORT: u16 = 5001;
/// Bytes that one call reads at most.
const READ_SIZE: usize = 1 << 18;
/// Maximum wait, so that the end of the run is noticed.
const MAX_WAIT: Duration = Duration::from_ms(2);

/// One flow that a host sends.
#[derive(Debug)]
pub(crate) struct ClientFlow {
    pub(crate) flow: u32,
    to: Ipv4Addr,
    sized: bool,
    writer: FlowWriter,
    /// Its sender is sampled at intervals.
    sampled: bool,
    /// Planned open time.
    opens: Instant,
    conn: Option<Conn>,
    pub(crate) port: u16,
    /// Actual open time.
    pub(crate) opened: Option<Instant>,
    pub(crate) established: Option<Instant>,
    finished: bool,
    pub(crate) failed: Option<CloseReason>,
    /// Time of the next check whether all data is acknowledged.
    next_ack_check: Instant,
    /// The last socket info.
    pub(crate) last_info: Option<SocketInfo>,
}

impl ClientFlow {
    pub(crate) fn new(
        (flow, sized): (u32, bool),
        to: Ipv4Addr,
        opens: Instant,
        writer: FlowWriter,
        sampled: bool,
    ) -> Self {
        Self {
            flow,
            to,
            sized,
            writer,
            sampled,
            opens,
            conn: None,
            port: 0,
            opened: None,
            established: None,
            finished: false,
            failed: None,
            next_ack_check: Instant::ZERO,
            last_info: None,
        }
    }
}

/// One connection that a host accepted.
#[derive(Debug)]
pub(crate) struct ServerFlow {
    conn: Conn,
    pub(crate) peer: SocketAddrV4,
    /// Its flow and that flow's size, once known.
    flow: Option<(u32, Option<u64>)>,
    /// Bytes read by the application.
    pub(crate) bytes: u64,
    /// Bytes read before the end of the warm-up.
    pub(crate) warmup_bytes: u64,
    /// Time at which the last byte was read.
    pub(crate) completed_at: Option<Instant>,
    closed: bool,
    /// The last socket info.
    pub(crate) last_info: Option<SocketInfo>,
}

/// A sample of a sender.
#[derive(Debug)]
pub(crate) struct SenderSample {
    pub(crate) at: Instant,
    pub(crate) flow: u32,
    pub(crate) info: SocketInfo,
}

/// The applications of a host.
#[derive(Debug)]
pub(crate) struct Apps {
    pub(crate) outgoing: Vec<ClientFlow>,
    pub(crate) incoming: Vec<ServerFlow>,
    pub(crate) samples: Vec<SenderSample>,
    address: Ipv4Addr,
    /// Role of each connection: indices into `outgoing` and `incoming`.
    roles: Vec<ConnRole>,
    warmup: Duration,
    interval: Option<Duration>,
    read_buffer: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum ConnRole {
    Client(usize),
    Server(usize),
}

impl Apps {
    pub(crate) fn new(
        address: Ipv4Addr,
        outgoing: Vec<ClientFlow>,
        warmup: Duration,
        interval: Option<Duration>,
    ) -> Self {
        let (incoming, samples, roles) = (Vec::new(), Vec::new(), Vec::new());
        let read_buffer = vec![0; READ_SIZE];
        Self { outgoing, incoming, samples, address, roles, warmup, interval, read_buffer }
    }

    /// Runs the applications until the run is stopped, then queries every connection once more.
    pub(crate) fn run(
        &mut self,
        sockets: &mut dyn Sockets,
        run_state: &RunState,
    ) -> io::Result<()> {
        let mut events = Vec::new();
        let mut sample_at = self.interval.map(|interval| Instant::ZERO + interval);
        while !run_state.is_stopped() {
            let mut next = self.run_due(sockets, run_state)?;
            if let (Some(at), Some(interval)) = (sample_at, self.interval) {
                let now = run_state.now();
                if at <= now {
                    self.sample(now, sockets)?;
                    // Missed samples are skipped.
                    let missed = now.saturating_since(at).as_ps() / interval.as_ps().max(1);
                    sample_at = Some(at + interval * (missed + 1));
                }
                next = sample_at.map_or(next, |at| next.min(at));
            }
            let left = next.saturating_since(run_state.now()).min(MAX_WAIT);
            sockets.wait(std::time::Duration::from_nanos(left.as_ns()), &mut events)?;
            for what in events.drain(..) {
                match what {
                    SocketEvent::Accepted(conn, peer) => {
                        self.accepted(conn, peer, sockets, run_state);
                    }
                    SocketEvent::Ready(conn) => match self.roles.get(conn).copied() {
                        Some(ConnRole::Client(i)) => self.serve_client(i, sockets, run_state),
                        Some(ConnRole::Server(i)) => self.serve_server(i, sockets, run_state),
                        None => {}
                    },
                }
            }
        }
        self.collect_final_info(sockets)
    }

    /// Opens flows and writes data that are due; returns the time of the next action.
    fn run_due(&mut self, sockets: &mut dyn Sockets, run_state: &RunState) -> io::Result<Instant> {
        let mut next = Instant::FAR_FUTURE;
        for i in 0..self.outgoing.len() {
            let now = run_state.now();
            let flow = &mut self.outgoing[i];
            if flow.failed.is_some() || flow.finished {
                continue;
            }
            if flow.conn.is_none() {
                if flow.opens > now {
                    next = next.min(flow.opens);
                    continue;
                }
                self.open(i, now, sockets, run_state);
                continue;
            }
            if flow.established.is_none() {
                continue;
            }
            if flow.writer.waits_for_acks() {
                if flow.next_ack_check <= now {
                    flow.next_ack_check = now + ACK_POLL_INTERVAL;
                    let conn: Vec<Conn> = flow.conn.into_iter().collect();
                    let socket_info = sockets.info(&conn)?.pop().flatten();
                    if socket_info.is_some_and(|l| l.unacknowledged == Some(0)) {
                        flow.writer.acknowledged(now);
                    }
                }
                next = next.min(flow.next_ack_check);
            }
            if let Some(at) = flow.writer.next() {
                if at <= now {
                    self.serve_client(i, sockets, run_state);
                } else {
                    next = next.min(at);
                }
            }
        }
        Ok(next)
    }

    fn open(&mut self, i: usize, now: Instant, sockets: &mut dyn Sockets, run_state: &RunState) {
        let flow = &mut self.outgoing[i];
        flow.opened = Some(now);
        match sockets.connect(SocketAddrV4::new(flow.to, PORT)) {
            Ok((conn, port)) => {
                (flow.conn, flow.port) = (Some(conn), port);
                run_state.note_opened(SocketAddrV4::new(self.address, port), flow.flow);
                record_role(&mut self.roles, conn, ConnRole::Client(i));
            }
            Err(error) => self.fail(i, &error, run_state),
        }
    }

    fn fail(&mut self, i: usize, error: &io::Error, run_state: &RunState) {
        let flow = &mut self.outgoing[i];
        if flow.failed.is_some() {
            return;
        }
        flow.failed = Some(match error.kind() {
            io::ErrorKind::ConnectionRefused => CloseReason::Refused,
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => CloseReason::Reset,
            io::ErrorKind::TimedOut => CloseReason::TimedOut,
            _ => CloseReason::Aborted,
        });
        // The server counts a flow whose bytes all arrived.
        if flow.sized && !flow.finished {
            run_state.on_flow_finished();
        }
    }

    /// Handles an event of an outgoing flow.
    fn serve_client(&mut self, i: usize, sockets: &mut dyn Sockets, run_state: &RunState) {
        let flow = &mut self.outgoing[i];
        let Some(conn) = flow.conn.filter(|_| flow.failed.is_none()) else { return };
        if let Err(error) = flow.serve(conn, sockets, run_state) {
            self.fail(i, &error, run_state);
        }
    }

    fn accepted(
        &mut self,
        conn: Conn,
        peer: SocketAddrV4,
        sockets: &mut dyn Sockets,
        run_state: &RunState,
    ) {
        record_role(&mut self.roles, conn, ConnRole::Server(self.incoming.len()));
        self.incoming.push(ServerFlow {
            conn,
            peer,
            flow: None,
            bytes: 0,
            warmup_bytes: 0,
            completed_at: None,
            closed: false,
            last_info: None,
        });
        self.serve_server(self.incoming.len() - 1, sockets, run_state);
    }

    /// Handles an event of an accepted connection.
    fn serve_server(&mut self, i: usize, sockets: &mut dyn Sockets, run_state: &RunState) {
        let warm = Instant::ZERO + self.warmup;
        let Some(flow) = self.incoming.get_mut(i).filter(|f| !f.closed) else { return };
        loop {
            match sockets.get(flow.conn).and_then(|socket| socket.read(&mut self.read_buffer)) {
                Ok(Some(n)) if n > 0 => {
                    let now = run_state.now();
                    flow.bytes += n as u64;
                    if now < warm {
                        flow.warmup_bytes = flow.bytes;
                    }
                    if flow.flow.is_none() {
                        flow.flow = run_state.flow_of(flow.peer);
                    }
                    let size = flow.flow.and_then(|(_, size)| size);
                    if flow.completed_at.is_none() && size.is_some_and(|size| flow.bytes >= size) {
                        flow.completed_at = Some(now);
                        run_state.on_flow_finished();
                    }
                }
                Ok(None) => return,
                // FIN, or an error: the client reports a failed connection itself.
                Ok(Some(_)) | Err(_) => {
                    flow.closed = true;
                    return;
                }
            }
        }
    }

    fn sample(&mut self, now: Instant, sockets: &mut dyn Sockets) -> io::Result<()> {
        let live = |f: &&ClientFlow| f.sampled && f.established.is_some() && f.failed.is_none();
        let wanted: Vec<(u32, Conn)> = self
            .outgoing
            .iter()
            .filter(live)
            .filter(|f| !f.is_acknowledged())
            .filter_map(|f| Some((f.flow, f.conn?)))
            .collect();
        let conns: Vec<Conn> = wanted.iter().map(|(_, conn)| *conn).collect();
        for ((flow, _), socket_info) in wanted.into_iter().zip(sockets.info(&conns)?) {
            if let Some(socket_info) = socket_info {
                if let Some(out) = self.outgoing.iter_mut().find(|f| f.flow == flow) {
                    out.last_info = Some(socket_info.clone());
                }
                self.samples.push(SenderSample { at: now, flow, info: socket_info });
            }
        }
        Ok(())
    }

    fn collect_final_info(&mut self, sockets: &mut dyn Sockets) -> io::Result<()> {
        let out = self.outgoing.iter().enumerate().filter_map(|(i, f)| Some((f.conn?, i)));
        let (conns, indices): (Vec<Conn>, Vec<usize>) = out.unzip();
        for (i, socket_info) in indices.into_iter().zip(sockets.info(&conns)?) {
            // A connection without info has a final one already, or never had any.
            if socket_info.is_some() {
                self.outgoing[i].last_info = socket_info;
            }
        }
        let conns: Vec<Conn> = self.incoming.iter().map(|f| f.conn).collect();
        for (flow, socket_info) in self.incoming.iter_mut().zip(sockets.info(&conns)?) {
            flow.last_info = socket_info;
        }
        Ok(())
    }
}

fn record_role(roles: &mut Vec<ConnRole>, conn: Conn, role: ConnRole) {
    // Connections are numbered consecutively.
    debug_assert_eq!(roles.len(), conn, "no connection is left out");
    roles.push(role);
}

impl ClientFlow {
    /// All data is acknowledged, as last sampled: no further checks are needed.
    fn is_acknowledged(&self) -> bool {
        let nothing = |socket_info: &SocketInfo| socket_info.unacknowledged == Some(0);
        self.finished && self.last_info.as_ref().is_some_and(nothing)
    }

    fn serve(
        &mut self,
        conn: Conn,
        sockets: &mut dyn Sockets,
        run_state: &RunState,
    ) -> io::Result<()> {
        if self.established.is_none() {
            if !sockets.get(conn)?.is_connected()? {
                return Ok(());
            }
            self.established = Some(run_state.now());
        }
        loop {
            let due = self.writer.due(run_state.now());
            if due == 0 {
                break;
            }
            let taken = sockets.write(conn, due)?;
            if taken == 0 {
                break;
            }
            self.writer.on_accepted(taken);
        }
        if self.writer.is_finished() && !self.finished {
            self.finished = true;
            sockets.get(conn)?.shutdown_write()?;
        }
        // The server sends no data: a read detects a reset.
        while sockets.get(conn)?.read(&mut [0; 64])?.is_some_and(|n| n > 0) {}
        Ok(())
    }
}
