//! How fast lowtide's TCP is beside the kernel's, on the same line and with the same processors.
//!
//! Contract: one connection between two network namespaces of this process's own. Each end, whoever's TCP it is, has one
//! processor of its own for its application and everything else. What the kernel does for a packet may run on the
//! other's, so that the sum over both ends is what counts.

mod line;
mod usage;

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use lowtide_tcp::Config;
use lowtide_units::Duration;

use crate::error::LiveError;
use crate::load::{Amount, Flow, Load, Pipe, ServePlan, Way, run, serve};
use line::{End, lay};
use usage::{Usage, pin};

/// Whose TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whose {
    /// The kernel's.
    Kernel,
    /// lowtide's.
    Lowtide,
}

/// What is between the ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line {
    /// A veth pair without offloads: every packet is a frame. lowtide is at its end by AF_PACKET.
    Veth,
    /// A veth pair with offloads.
    VethOffloads,
    /// A TUN interface, packet by packet: one end is the kernel's, the other lowtide's.
    Tun,
    /// The same with offload.
    TunOffload,
}

impl Line {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Veth => "veth",
            Self::VethOffloads => "veth, offloads",
            Self::Tun => "tun",
            Self::TunOffload => "tun, offload",
        }
    }
}

/// One connection that sends for a while.
#[derive(Clone, Copy, Debug)]
pub struct Bout<'a> {
    /// What is between the ends.
    pub line: Line,
    /// Who sends, and who receives.
    pub ends: [Whose; 2],
    /// For how long.
    pub time: Duration,
    /// The processors of the two ends, which may be one.
    pub processors: [usize; 2],
    /// How lowtide's TCP is set up.
    pub config: &'a Config,
    /// The kernel's congestion control.
    pub kernel_cc: &'a str,
}

/// How it went.
#[derive(Clone, Copy, Debug)]
pub struct Score {
    /// Bytes of data.
    pub bytes: u64,
    /// From before the connection was opened until everything was confirmed.
    pub took: Duration,
    /// Processor time of both ends together, seconds.
    pub processor: f64,
    /// Of it, what drivers of lowtide took.
    pub drivers: f64,
    /// Processor time of everything on this machine, seconds: whatever else ran is in it.
    pub machine: f64,
    /// Bytes that lowtide sent again, where it sends.
    pub retransmitted: u64,
}

impl Score {
    /// Bits of data a second.
    pub fn goodput(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.took.as_secs_f64()
    }
}

impl Bout<'_> {
    /// Lays the line, sends, and compares the checksums of both ends.
    ///
    /// # Errors
    /// What cannot be set up here, and data that did not come as it was sent.
    pub fn run(&self) -> Result<Score, LiveError> {
        let [sender, receiver] = lay(self)?;
        let failed = |e: io::Error| LiveError::system("send from one end to the other", e);
        let listener = receiver.listen(self)?;
        let to = SocketAddr::new(receiver.address(), line::PORT);
        let flow = Flow {
            start: Duration::ZERO,
            way: Way::Up,
            amount: Amount::Millis(self.time.as_ms()),
            piece: 128 << 10,
        };
        let load = Load { flows: vec![flow], interval: Duration::ZERO, seed: 1 };
        let (stop, served) = (AtomicBool::new(false), Mutex::new(Ok(())));
        let before = Usage::now()?;
        let report = std::thread::scope(|scope| {
            scope.spawn(|| {
                pin(self.processors[1]);
                let plan = ServePlan::of_known(1, &stop);
                let result = serve(&*listener, plan, &|_| {}).map(|_| ());
                *served.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = result;
            });
            let open = || -> io::Result<Arc<dyn Pipe>> {
                pin(self.processors[0]);
                sender.connect(to, self.config)
            };
            let report = run(&load, &open, &AtomicBool::new(false), &mut |_| {});
            stop.store(true, Ordering::Relaxed);
            report
        });
        let used = Usage::now()?.since(before);
        served.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).map_err(failed)?;
        if !report.is_good() {
            let why = report.streams.iter().find_map(|s| s.error.clone());
            let why = why.unwrap_or_else(|| "the checksums of both ends differ".to_owned());
            return Err(failed(io::Error::other(why)));
        }
        let info = report.streams.first().and_then(|s| s.info);
        Ok(Score {
            bytes: report.bytes(),
            took: report.took,
            processor: used.process,
            drivers: [&sender, &receiver].into_iter().map(End::driver).sum(),
            machine: used.machine,
            retransmitted: info.map_or(0, |i| i.tcp.counters.bytes_retrans),
        })
    }
}
