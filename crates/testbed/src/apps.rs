//! The applications of one host: clients that write their flows, and the server that reads everything.
//!
//! Contract: as the simulator's. A client opens its connection when its flow begins, writes, and ends its half; the
//! server reads at once. Nobody closes before the run is over, so that both ends can be asked what they saw. A flow
//! is delivered when its last byte is in the hands of the server's application.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

use lowtide_tcp::CloseReason;
use lowtide_units::{Duration, Instant};

use crate::course::Course;
use crate::look::Look;
use crate::sockets::{Conn, Got, News, Sockets};
use crate::writer::{LOOK, Writer};

/// The port on which every host serves, as in the simulator.
pub(crate) const PORT: u16 = 5001;
/// The longest wait, so that the end is noticed.
const NAP: Duration = Duration::from_ms(2);

/// One flow that a host sends.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) flow: u32,
    to: Ipv4Addr,
    sized: bool,
    writer: Writer,
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
    look: Instant,
    /// The last look.
    pub(crate) last: Option<Look>,
}

impl Outgoing {
    pub(crate) fn new(
        (flow, sized): (u32, bool),
        to: Ipv4Addr,
        start: Instant,
        writer: Writer,
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
            look: Instant::ZERO,
            last: None,
        }
    }
}

/// One connection that a host accepted.
#[derive(Debug)]
pub(crate) struct Incoming {
    conn: Conn,
    pub(crate) peer: SocketAddrV4,
    /// Its flow and that flow's size, once they are known.
    flow: Option<(u32, Option<u64>)>,
    /// Bytes that the application has.
    pub(crate) bytes: u64,
    /// Of these, bytes that came before the warm-up was over.
    pub(crate) cold_bytes: u64,
    /// When it had the last of them.
    pub(crate) complete: Option<Instant>,
    over: bool,
    /// The last look.
    pub(crate) last: Option<Look>,
}

/// A sender at one moment.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) at: Instant,
    pub(crate) flow: u32,
    pub(crate) look: Look,
}

/// The applications of a host.
#[derive(Debug)]
pub(crate) struct Apps {
    pub(crate) outgoing: Vec<Outgoing>,
    pub(crate) incoming: Vec<Incoming>,
    pub(crate) samples: Vec<Sample>,
    address: Ipv4Addr,
    /// Whose connection it is: places in `outgoing` and `incoming`.
    who: Vec<Who>,
    warmup: Duration,
    interval: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
enum Who {
    Client(usize),
    Server(usize),
}

impl Apps {
    pub(crate) fn new(
        address: Ipv4Addr,
        outgoing: Vec<Outgoing>,
        warmup: Duration,
        interval: Option<Duration>,
    ) -> Self {
        let (incoming, samples, who) = (Vec::new(), Vec::new(), Vec::new());
        Self { outgoing, incoming, samples, address, who, warmup, interval }
    }

    /// Does what is to be done until the run is stopped, then looks at every connection once more.
    pub(crate) fn run(&mut self, sockets: &mut dyn Sockets, course: &Course) -> io::Result<()> {
        let mut news = Vec::new();
        let mut sample_at = self.interval.map(|interval| Instant::ZERO + interval);
        while !course.is_stopped() {
            let mut next = self.due(sockets, course)?;
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
            let left = next.saturating_since(course.now()).min(NAP);
            sockets.wait(std::time::Duration::from_nanos(left.as_ns()), &mut news)?;
            for what in news.drain(..) {
                match what {
                    News::Accepted(conn, peer) => self.accepted(conn, peer, sockets, course),
                    News::Changed(conn) => match self.who.get(conn).copied() {
                        Some(Who::Client(i)) => self.serve_client(i, sockets, course),
                        Some(Who::Server(i)) => self.serve_server(i, sockets, course),
                        None => {}
                    },
                }
            }
        }
        self.last_look(sockets)
    }

    /// Opens and writes what is due; when there is something to do next.
    fn due(&mut self, sockets: &mut dyn Sockets, course: &Course) -> io::Result<Instant> {
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
                if flow.look <= now {
                    flow.look = now + LOOK;
                    let conn: Vec<Conn> = flow.conn.into_iter().collect();
                    let look = sockets.look(&conn)?.pop().flatten();
                    if look.is_some_and(|l| l.unacknowledged == Some(0)) {
                        flow.writer.acknowledged(now);
                    }
                }
                next = next.min(flow.look);
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

    fn open(&mut self, i: usize, now: Instant, sockets: &mut dyn Sockets, course: &Course) {
        let flow = &mut self.outgoing[i];
        flow.opened = Some(now);
        match sockets.open(SocketAddrV4::new(flow.to, PORT)) {
            Ok((conn, port)) => {
                (flow.conn, flow.port) = (Some(conn), port);
                course.note_opened(SocketAddrV4::new(self.address, port), flow.flow);
                note(&mut self.who, conn, Who::Client(i));
            }
            Err(error) => self.fail(i, &error, course),
        }
    }

    fn fail(&mut self, i: usize, error: &io::Error, course: &Course) {
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
            course.one_is_over();
        }
    }

    /// Something is new with a flow that is sent.
    fn serve_client(&mut self, i: usize, sockets: &mut dyn Sockets, course: &Course) {
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
        course: &Course,
    ) {
        note(&mut self.who, conn, Who::Server(self.incoming.len()));
        self.incoming.push(Incoming {
            conn,
            peer,
            flow: None,
            bytes: 0,
            cold_bytes: 0,
            complete: None,
            over: false,
            last: None,
        });
        self.serve_server(self.incoming.len() - 1, sockets, course);
    }

    /// Something is new with a connection that was accepted.
    fn serve_server(&mut self, i: usize, sockets: &mut dyn Sockets, course: &Course) {
        let warm = Instant::ZERO + self.warmup;
        let Some(flow) = self.incoming.get_mut(i).filter(|f| !f.over) else { return };
        loop {
            match sockets.read(flow.conn) {
                Ok(Got::Bytes(n)) => {
                    let now = course.now();
                    flow.bytes += n;
                    if now < warm {
                        flow.cold_bytes = flow.bytes;
                    }
                    if flow.flow.is_none() {
                        flow.flow = course.flow_from(flow.peer);
                    }
                    let size = flow.flow.and_then(|(_, size)| size);
                    if flow.complete.is_none() && size.is_some_and(|size| flow.bytes >= size) {
                        flow.complete = Some(now);
                        course.one_is_over();
                    }
                }
                Ok(Got::Nothing) => return,
                // A client whose connection failed knows it itself.
                Ok(Got::End) | Err(_) => {
                    flow.over = true;
                    return;
                }
            }
        }
    }

    fn sample(&mut self, now: Instant, sockets: &mut dyn Sockets) -> io::Result<()> {
        let live = |f: &&Outgoing| f.sampled && f.established.is_some() && f.failed.is_none();
        let wanted: Vec<(u32, Conn)> = self
            .outgoing
            .iter()
            .filter(live)
            .filter(|f| !f.is_acknowledged())
            .filter_map(|f| Some((f.flow, f.conn?)))
            .collect();
        let conns: Vec<Conn> = wanted.iter().map(|(_, conn)| *conn).collect();
        for ((flow, _), look) in wanted.into_iter().zip(sockets.look(&conns)?) {
            if let Some(look) = look {
                if let Some(out) = self.outgoing.iter_mut().find(|f| f.flow == flow) {
                    out.last = Some(look.clone());
                }
                self.samples.push(Sample { at: now, flow, look });
            }
        }
        Ok(())
    }

    fn last_look(&mut self, sockets: &mut dyn Sockets) -> io::Result<()> {
        let out = self.outgoing.iter().enumerate().filter_map(|(i, f)| Some((f.conn?, i)));
        let (conns, places): (Vec<Conn>, Vec<usize>) = out.unzip();
        for (i, look) in places.into_iter().zip(sockets.look(&conns)?) {
            // A connection that is gone has been seen before, or never.
            if look.is_some() {
                self.outgoing[i].last = look;
            }
        }
        let conns: Vec<Conn> = self.incoming.iter().map(|f| f.conn).collect();
        for (flow, look) in self.incoming.iter_mut().zip(sockets.look(&conns)?) {
            flow.last = look;
        }
        Ok(())
    }
}

fn note(who: &mut Vec<Who>, conn: Conn, is: Who) {
    // Numbers of connections come one after the other.
    debug_assert_eq!(who.len(), conn, "no connection is left out");
    who.push(is);
}

impl Outgoing {
    /// All of it has been acknowledged, as far as it was seen: nothing more to look at.
    fn is_acknowledged(&self) -> bool {
        let nothing = |look: &Look| look.unacknowledged == Some(0);
        self.finished && self.last.as_ref().is_some_and(nothing)
    }

    fn serve(&mut self, conn: Conn, sockets: &mut dyn Sockets, course: &Course) -> io::Result<()> {
        if self.established.is_none() {
            if !sockets.is_open(conn)? {
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
            self.writer.took(taken);
        }
        if self.writer.is_through() && !self.finished {
            self.finished = true;
            sockets.finish(conn)?;
        }
        // The server sends nothing: this is how a reset shows.
        while let Got::Bytes(_) = sockets.read(conn)? {}
        Ok(())
    }
}
