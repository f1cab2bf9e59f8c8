//! How fast lowtide's TCP is beside the kernel's, on the same line and with the same processors.
//!
//! Contract: one connection between two network namespaces of this process's own. Each end, whoever's TCP it is, has one
//! processor of its own for its application and everything else. What the kernel does for a packet may run on the
//! other's, so that the sum over both ends is what counts.

mod hosts;
mod usage;

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use lowtide_tcp::Config;
use lowtide_units::Duration;

use crate::error::LiveError;
use crate::load::{
    Amount, ByteStream, LoadFlow, LoadPlan, ServePlan, TransferDirection, run, serve,
};
use hosts::{BenchHost, set_up_hosts};
use usage::{CpuUsage, pin};

/// Whose TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TcpStack {
    /// The kernel's.
    Kernel,
    /// lowtide's.
    Lowtide,
}

/// What is between the ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkKind {
    /// A veth pair without offloads: every packet is a frame. lowtide is at its end by AF_PACKET.
    Veth,
    /// A veth pair with offloads.
    VethOffloads,
    /// A TUN interface, packet by packet: one end is the kernel's, the other lowtide's.
    Tun,
    /// The same with offload.
    TunOffload,
}

impl LinkKind {
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
pub struct BenchRun<'a> {
    /// What is between the ends.
    pub link: LinkKind,
    /// Who sends, and who receives.
    pub stacks: [TcpStack; 2],
    /// For how long.
    pub time: Duration,
    /// The processors of the two ends, which may be one.
    pub cpus: [usize; 2],
    /// How lowtide's TCP is set up.
    pub config: &'a Config,
    /// The kernel's congestion control.
    pub kernel_cc: &'a str,
}

/// How it went.
#[derive(Clone, Copy, Debug)]
pub struct BenchResult {
    /// Bytes of data.
    pub bytes: u64,
    /// From before the connection was opened until everything was confirmed.
    pub took: Duration,
    /// Processor time of both ends together, seconds.
    pub cpu_seconds: f64,
    /// Of it, what drivers of lowtide took.
    pub driver_cpu_seconds: f64,
    /// Processor time of everything on this machine, seconds: whatever else ran is in it.
    pub machine_cpu_seconds: f64,
    /// Bytes that lowtide sent again, where it sends.
    pub retransmitted: u64,
}

impl BenchResult {
    /// Bits of data a second.
    pub fn goodput(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.took.as_secs_f64()
    }
}

impl BenchRun<'_> {
    /// Lays the line, sends, and compares the checksums of both ends.
    ///
    /// # Errors
    /// What cannot be set up here, and data that did not come as it was sent.
    pub fn run(&self) -> Result<BenchResult, LiveError> {
        let [sender, receiver] = set_up_hosts(self)?;
        let failed = |e: io::Error| LiveError::system("send from one end to the other", e);
        let listener = receiver.listen(self)?;
        let to = SocketAddr::new(receiver.address(), hosts::PORT);
        let flow = LoadFlow {
            start: Duration::ZERO,
            direction: TransferDirection::Up,
            amount: Amount::Millis(self.time.as_ms()),
            write_size: 128 << 10,
        };
        let load = LoadPlan { flows: vec![flow], interval: Duration::ZERO, seed: 1 };
        let (stop, served) = (AtomicBool::new(false), Mutex::new(Ok(())));
        let before = CpuUsage::now()?;
        let report = std::thread::scope(|scope| {
            scope.spawn(|| {
                pin(self.cpus[1]);
                let plan = ServePlan::for_trusted(1, &stop);
                let result = serve(&*listener, plan, &|_| {}).map(|_| ());
                *served.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = result;
            });
            let open = || -> io::Result<Arc<dyn ByteStream>> {
                pin(self.cpus[0]);
                sender.connect(to, self.config)
            };
            let report = run(&load, &open, &AtomicBool::new(false), &mut |_| {});
            stop.store(true, Ordering::Relaxed);
            report
        });
        let used = CpuUsage::now()?.since(before);
        served.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).map_err(failed)?;
        if !report.all_verified() {
            let why = report.streams.iter().find_map(|s| s.error.clone());
            let why = why.unwrap_or_else(|| "the checksums of both ends differ".to_owned());
            return Err(failed(io::Error::other(why)));
        }
        let info = report.streams.first().and_then(|s| s.info);
        Ok(BenchResult {
            bytes: report.bytes(),
            took: report.took,
            cpu_seconds: used.process,
            driver_cpu_seconds: [&sender, &receiver]
                .into_iter()
                .map(BenchHost::driver_cpu_seconds)
                .sum(),
            machine_cpu_seconds: used.machine,
            retransmitted: info.map_or(0, |i| i.tcp.counters.bytes_retrans),
        })
    }
}
