//! The applications of one host: clients that write their flows, and the server that reads everything.
//!
//! Contract: as the simulator's. A client opens its connection when its flow begins, writes, and ends its half; the
//! server reads at once. Nobody closes before the run is over, so that both ends can be asked what they saw. A flow
//! is delivered when its last byte is in the hands of the server's application.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

use lowtide_tcp::CloseReason;
use lowtide_units::{Duration, Instant};

use crate::run_state::RunState;
use crate::socket_info::SocketInfo;
use crate::sockets::{Conn, ReadOutcome, SocketEvent, Sockets};
use crate::writer::{ACK_POLL_INTERVAL, FlowWriter};

/// The port on which every host serves, as in the simulator.
pub(crate) const PORT: u16 = 5001;
/// The longest wait, so that the end is noticed.
const MAX_WAIT: Duration = Duration::from_ms(2);

/// One flow that a host sends.
#[derive(Debug)]
pub(crate) struct ClientFlow {
    pub(crate) flow: u32,
    to: Ipv4Addr,
    sized: bool,
    writer: FlowWriter,
    /// Its sender is looked at in intervals.
    sampled: bool,
    start: Instant,
    conn: Option<Conn>,
    pub(crate) port: u16,
    /// When it was really opened.
    pub(crate) opened: Option<Instant>,
    pub(crate) established: Option<Instant>,
    finished: bool,
    pub(crate) failed: Option<CloseReason>,
    /// When it looks next whether all is acknowledged.
    next_ack_check: Instant,
    /// The last look.
    pub(crate) last_info: Option<SocketInfo>,
}

impl ClientFlow {
    pub(crate) fn new(
        (flow, sized): (u32, bool),
        to: Ipv4Addr,
        start: Instant,
        writer: FlowWriter,
        sampled: bool,
    ) -> Self {
        Self {
            flow,
            to,
            sized,
            writer,
            sampled,
            start,
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
    /// Its flow and that flow's size, once they are known.
    flow: Option<(u32, Option<u64>)>,
    /// Bytes that the application has.
    pub(crate) bytes: u64,
    /// Of these, bytes that came before the warm-up was over.
    pub(crate) warmup_bytes: u64,
    /// When it had the last of them.
    pub(crate) completed_at: Option<Instant>,
    closed: bool,
    /// The last look.
    pub(crate) last_info: Option<SocketInfo>,
}

/// A sender at one moment.
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
    /// Whose connection it is: places in `outgoing` and `incoming`.
    roles: Vec<ConnRole>,
    warmup: Duration,
    interval: Option<Duration>,
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
        let (incoming, samples, who) = (Vec::new(), Vec::new(), Vec::new());
        Self { outgoing, incoming, samples, address, roles: who, warmup, interval }
    }

    /// Does what is to be done until the run is stopped, then looks at every connection once more.
    pub(crate) fn run(&mut self, sockets: &mut dyn Sockets, course: &RunState) -> io::Result<()> {
        let mut news = Vec::new();
        let mut sample_at = self.interval.map(|interval| Instant::ZERO + interval);
        while !course.is_stopped() {
            let mut next = self.run_due(sockets, course)?;
            if let (Some(at), Some(interval)) = (sample_at, self.interval) {
                let now = course.now();
                if at <= now {
                    self.sample(now, sockets)?;
                    // What was missed is left out.
                    let missed = now.saturating_since(at).as_ps() / interval.as_ps().max(1);
                    sample_at = Some(at + interval * (missed + 1));
                }
                next = sample_at.map_or(next, |at| next.min(at));
            }
            let left = next.saturating_since(course.now()).min(MAX_WAIT);
            sockets.wait(std::time::Duration::from_nanos(left.as_ns()), &mut news)?;
            for what in news.drain(..) {
                match what {
                    SocketEvent::Accepted(conn, peer) => self.accepted(conn, peer, sockets, course),
                    SocketEvent::Ready(conn) => match self.roles.get(conn).copied() {
                        Some(ConnRole::Client(i)) => self.serve_client(i, sockets, course),
                        Some(ConnRole::Server(i)) => self.serve_server(i, sockets, course),
                        None => {}
                    },
                }
            }
        }
        self.collect_final_info(sockets)
    }

    /// Opens and writes what is due; when there is something to do next.
    fn run_due(&mut self, sockets: &mut dyn Sockets, course: &RunState) -> io::Result<Instant> {
        let mut next = Instant::FAR_FUTURE;
        for i in 0..self.outgoing.len() {
            let now = course.now();
            let flow = &mut self.outgoing[i];
            if flow.failed.is_some() || flow.finished {
                continue;
            }
            if flow.conn.is_none() {
                if flow.start > now {
                    next = next.min(flow.start);
                    continue;
                }
                self.open(i, now, sockets, course);
                continue;
            }
            if flow.established.is_none() {
                continue;
            }
            if flow.writer.waits_for_acks() {
                if flow.next_ack_check <= now {
                    flow.next_ack_check = now + ACK_POLL_INTERVAL;
                    let conn: Vec<Conn> = flow.conn.into_iter().collect();
                    let look = sockets.info(&conn)?.pop().flatten();
                    if look.is_some_and(|l| l.unacknowledged == Some(0)) {
                        flow.writer.acknowledged(now);
                    }
                }
                next = next.min(flow.next_ack_check);
            }
            if let Some(at) = flow.writer.next() {
                if at <= now {
                    self.serve_client(i, sockets, course);
                } else {
                    next = next.min(at);
                }
            }
        }
        Ok(next)
    }

    fn open(&mut self, i: usize, now: Instant, sockets: &mut dyn Sockets, course: &RunState) {
        let flow = &mut self.outgoing[i];
        flow.opened = Some(now);
        match sockets.connect(SocketAddrV4::new(flow.to, PORT)) {
            Ok((conn, port)) => {
                (flow.conn, flow.port) = (Some(conn), port);
                course.note_opened(SocketAddrV4::new(self.address, port), flow.flow);
                record_role(&mut self.roles, conn, ConnRole::Client(i));
            }
            Err(error) => self.fail(i, &error, course),
        }
    }

    fn fail(&mut self, i: usize, error: &io::Error, course: &RunState) {
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
        // A flow whose bytes all arrived is counted by its server.
        if flow.sized && !flow.finished {
            course.on_flow_finished();
        }
    }

    /// Something is new with a flow that is sent.
    fn serve_client(&mut self, i: usize, sockets: &mut dyn Sockets, course: &RunState) {
        let flow = &mut self.outgoing[i];
        let Some(conn) = flow.conn.filter(|_| flow.failed.is_none()) else { return };
        if let Err(error) = flow.serve(conn, sockets, course) {
            self.fail(i, &error, course);
        }
    }

    fn accepted(
        &mut self,
        conn: Conn,
        peer: SocketAddrV4,
        sockets: &mut dyn Sockets,
        course: &RunState,
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
        self.serve_server(self.incoming.len() - 1, sockets, course);
    }

    /// Something is new with a connection that was accepted.
    fn serve_server(&mut self, i: usize, sockets: &mut dyn Sockets, course: &RunState) {
        let warm = Instant::ZERO + self.warmup;
        let Some(flow) = self.incoming.get_mut(i).filter(|f| !f.closed) else { return };
        loop {
            match sockets.read(flow.conn) {
                Ok(ReadOutcome::Bytes(n)) => {
                    let now = course.now();
                    flow.bytes += n;
                    if now < warm {
                        flow.warmup_bytes = flow.bytes;
                    }
                    if flow.flow.is_none() {
                        flow.flow = course.flow_of(flow.peer);
                    }
                    let size = flow.flow.and_then(|(_, size)| size);
                    if flow.completed_at.is_none() && size.is_some_and(|size| flow.bytes >= size) {
                        flow.completed_at = Some(now);
                        course.on_flow_finished();
                    }
                }
                Ok(ReadOutcome::WouldBlock) => return,
                // A client whose connection failed knows it itself.
                Ok(ReadOutcome::Eof) | Err(_) => {
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
        for ((flow, _), look) in wanted.into_iter().zip(sockets.info(&conns)?) {
            if let Some(look) = look {
                if let Some(out) = self.outgoing.iter_mut().find(|f| f.flow == flow) {
                    out.last_info = Some(look.clone());
                }
                self.samples.push(SenderSample { at: now, flow, info: look });
            }
        }
        Ok(())
    }

    fn collect_final_info(&mut self, sockets: &mut dyn Sockets) -> io::Result<()> {
        let out = self.outgoing.iter().enumerate().filter_map(|(i, f)| Some((f.conn?, i)));
        let (conns, places): (Vec<Conn>, Vec<usize>) = out.unzip();
        for (i, look) in places.into_iter().zip(sockets.info(&conns)?) {
            // A connection that is gone has been seen before, or never.
            if look.is_some() {
                self.outgoing[i].last_info = look;
            }
        }
        let conns: Vec<Conn> = self.incoming.iter().map(|f| f.conn).collect();
        for (flow, look) in self.incoming.iter_mut().zip(sockets.info(&conns)?) {
            flow.last_info = look;
        }
        Ok(())
    }
}

fn record_role(who: &mut Vec<ConnRole>, conn: Conn, is: ConnRole) {
    // Numbers of connections come one after the other.
    debug_assert_eq!(who.len(), conn, "no connection is left out");
    who.push(is);
}

impl ClientFlow {
    /// All of it has been acknowledged, as far as it was seen: nothing more to look at.
    fn is_acknowledged(&self) -> bool {
        let nothing = |look: &SocketInfo| look.unacknowledged == Some(0);
        self.finished && self.last_info.as_ref().is_some_and(nothing)
    }

    fn serve(
        &mut self,
        conn: Conn,
        sockets: &mut dyn Sockets,
        course: &RunState,
    ) -> io::Result<()> {
        if self.established.is_none() {
            if !sockets.is_established(conn)? {
                return Ok(());
            }
            self.established = Some(course.now());
        }
        loop {
            let due = self.writer.due(course.now());
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
            sockets.shutdown_write(conn)?;
        }
        // The server sends nothing: this is how a reset shows.
        while let ReadOutcome::Bytes(_) = sockets.read(conn)? {}
        Ok(())
    }
}
