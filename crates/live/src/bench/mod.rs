//! Benchmark of lowtide's TCP against the kernel's, on the same link and CPUs.
//!
//! Contract: one connection between two network namespaces of this process. Each end has one CPU
//! for its application and its TCP. The kernel may process a packet on the CPU of the other end, so
//! only the sum over both ends is meaningful.

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

/// The TCP implementation of an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TcpStack {
    /// The kernel's.
    Kernel,
    /// lowtide's.
    Lowtide,
}

lowtide_units::named_enum! {
    /// Type of link between the ends.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum LinkKind {
        /// A veth pair without offloads: every packet is a frame. lowtide uses AF_PACKET.
        Veth = "veth",
        /// A veth pair with offloads.
        VethOffloads = "veth, offloads",
        /// A TUN interface without offload: one end is the kernel's, the other lowtide's.
        Tun = "tun",
        /// A TUN interface with offload.
        TunOffload = "tun, offload",
    }
}

/// One run: a connection that sends for some time.
#[derive(Clone, Copy, Debug)]
pub struct BenchRun<'a> {
    /// Type of link.
    pub link: LinkKind,
    /// TCP implementations of the sender and the receiver.
    pub stacks: [TcpStack; 2],
    /// Duration of the transfer.
    pub time: Duration,
    /// CPUs of the two ends, which may be the same.
    pub cpus: [usize; 2],
    /// Configuration of lowtide's TCP.
    pub config: &'a Config,
    /// The kernel's congestion control.
    pub kernel_cc: &'a str,
}

/// Result of a run.
#[derive(Clone, Copy, Debug)]
pub struct BenchResult {
    /// Bytes of data.
    pub bytes: u64,
    /// Time from before the connection was opened until all data was confirmed.
    pub took: Duration,
    /// CPU time of both ends, seconds.
    pub cpu_seconds: f64,
    /// CPU time of lowtide's drivers among it, seconds.
    pub driver_cpu_seconds: f64,
    /// CPU time of the whole machine, seconds, including unrelated processes.
    pub machine_cpu_seconds: f64,
    /// Bytes that lowtide retransmitted, if it is the sender.
    pub retransmitted: u64,
}

impl BenchResult {
    /// Goodput in bits per second.
    pub fn goodput(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.took.as_secs_f64()
    }
}

impl BenchRun<'_> {
    /// Sets up the link, transfers data, and compares the checksums of both ends.
    ///
    /// # Errors
    /// The setup fails, or the received data differs from the data sent.
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
        let usage = CpuUsage::now()?.since(before);
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
            cpu_seconds: usage.process,
            driver_cpu_seconds: [&sender, &receiver]
                .into_iter()
                .map(BenchHost::driver_cpu_seconds)
                .sum(),
            machine_cpu_seconds: usage.machine,
            retransmitted: info.map_or(0, |i| i.tcp.counters.bytes_retrans),
        })
    }
}
