//! `lowtide live`: our TCP on real packets.

mod bench;
mod bottleneck;
mod link;
mod link_report;
mod proxy;
mod setup;
mod stream_report;
mod through;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lowtide_bottleneck::Bottleneck;
use lowtide_live::load::{
    Accept, ByteStream, LoadInterval, LoadPlan, LoadReport, ServeLimits, ServePlan, StreamReport,
    run, serve,
};
use lowtide_live::privileges::RetainedCapability;
use lowtide_live::{Live, LiveStats};

use crate::args::{LiveClientArgs, LiveCommand, LiveServerArgs, PeerArg};
use crate::error::CommandError;
use crate::interrupt::{STOP, watch_for_interrupt};
use crate::output::Output;
use setup::LiveHost;

/// Most time for connections to close at the end.
const LINGER: Duration = Duration::from_secs(2);
/// As [`LINGER`], after a signal: the command ends within a second even if peers do not answer.
const LINGER_STOPPED: Duration = Duration::from_millis(50);

pub(crate) fn live(command: &LiveCommand, out: Output) -> Result<(), CommandError> {
    match command {
        LiveCommand::Client(args) => client(args, out),
        LiveCommand::Server(args) => server(args, out),
        LiveCommand::Bottleneck(args) => bottleneck::bottleneck(args, out),
        LiveCommand::Bench(args) => bench::bench(args, out),
        LiveCommand::Proxy(args) => proxy::proxy(args, out),
    }
}

/// Names the failed operation in an error.
fn failed(operation: &str) -> impl Fn(io::Error) -> CommandError {
    move |e| CommandError::Run(format!("{operation}: {e}"))
}

type Connector<'a> = dyn Fn() -> io::Result<Arc<dyn ByteStream>> + Sync + 'a;

fn client(args: &LiveClientArgs, out: Output) -> Result<(), CommandError> {
    let out = Output { json: out.json || args.host.own.as_json, ..out };
    if args.server.is_none() && args.host.peer == PeerArg::Any {
        let help = "`--peer kernel` starts one: the kernel's TCP in a new namespace".to_owned();
        return Err(CommandError::Usage(
            "a client needs the address of its server".into(),
            Some(help),
        ));
    }
    let host = LiveHost::make(&args.host)?;
    let load = setup::load(&args.load);
    let address = args.server.unwrap_or(host.plan.networks[0].peer);
    let to = SocketAddr::new(address, args.host.port);
    let (live, bottleneck) =
        through::start(&host, args.host.peer, &args.through, &[RetainedCapability::LowPorts], out)?;
    let listener = match args.host.peer {
        PeerArg::Any => None,
        PeerArg::Kernel => Some(TcpListener::bind(to).map_err(failed("the kernel's server"))?),
    };
    setup::drop_privileges()?;
    watch_for_interrupt()?;
    let open =
        || -> io::Result<Arc<dyn ByteStream>> { Ok(Arc::new(live.connect(to, &host.config)?)) };
    let report = match listener {
        None => run_client(&open, &load, out),
        Some(listener) => run_with_server(&listener, &open, &load, out, &ServedStreams::default())?,
    };
    finish(&host, (live, bottleneck), &load, &report, &[], out)
}

fn server(args: &LiveServerArgs, out: Output) -> Result<(), CommandError> {
    let out = Output { json: out.json || args.host.own.as_json, ..out };
    let host = LiveHost::make(&args.host)?;
    let load = setup::load(&args.load);
    let (live, bottleneck) = through::start(&host, args.host.peer, &args.through, &[], out)?;
    setup::drop_privileges()?;
    watch_for_interrupt()?;
    let port = args.host.port;
    let listener = live.listen(port, &host.config).map_err(failed("our server"))?;
    let limits = limits(args);
    listener.defer_accept(limits.request_timeout);
    if args.host.peer == PeerArg::Kernel {
        let to = SocketAddr::new(host.plan.networks[0].local, port);
        let open = || -> io::Result<Arc<dyn ByteStream>> { Ok(Arc::new(TcpStream::connect(to)?)) };
        let served = ServedStreams::default();
        let report = run_with_server(&listener, &open, &load, out, &served)?;
        drop(listener);
        let served = served.reports.into_inner().unwrap_or_else(PoisonError::into_inner);
        return finish(&host, (live, bottleneck), &load, &report, &served, out);
    }
    let ours: Vec<String> = host.plan.networks.iter().map(|s| s.local.to_string()).collect();
    out.note(&format!("listening on {}, port {port}; Ctrl-C ends", ours.join(" and ")));
    let connections = args.one_off.then_some(1);
    let plan = ServePlan { connections, stop: &STOP, on_accept: &|_| {}, limits };
    let write_error = Mutex::new(None);
    let shed = serve(&listener, plan, &|report| {
        if let Err(failure) = stream_report::served(&report, &host.config, out) {
            *write_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
            STOP.store(true, Ordering::Relaxed);
        }
    })
    .map_err(failed("our server"))?;
    if shed > 0 {
        let most = args.max_connections;
        out.note(&format!(
            "{shed} connections were reset: idle, slower than --min-rate, more than \
             --max-connections {most}, or no thread for them"
        ));
    }
    drop(listener);
    drop(bottleneck);
    let stats = end(live);
    stream_report::dropped(&stats, out);
    note_memory(&stats, out);
    write_error.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

fn limits(args: &LiveServerArgs) -> ServeLimits {
    let default = ServeLimits::default();
    let admission = args.least_rate.limits(args.max_connections, args.idle);
    let idle = Duration::from_micros(admission.idle.as_us());
    let request_timeout = default.request_timeout.min(idle);
    ServeLimits { admission, request_timeout, ..default }
}

/// Runs a client whose server is elsewhere.
fn run_client(open: &Connector<'_>, load: &LoadPlan, out: Output) -> LoadReport {
    run(load, open, &STOP, &mut |interval| stream_report::interval(interval, false, out))
}

/// Connections of a server in this process, and their reports.
#[derive(Default)]
struct ServedStreams {
    pipes: Mutex<Vec<Arc<dyn ByteStream>>>,
    reports: Mutex<Vec<StreamReport>>,
}

impl ServedStreams {
    /// Adds the state of our end to samples of the kernel's client, which has none. Returns whether
    /// it did.
    fn fill_missing_info(&self, interval: &mut LoadInterval) -> bool {
        let pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ours = false;
        for sample in interval.samples.iter_mut().filter(|s| s.info.is_none()) {
            let other =
                |p: &&Arc<dyn ByteStream>| sample.local.is_some() && p.peer().ok() == sample.local;
            sample.info = pipes.iter().find(other).and_then(|p| p.info());
            ours |= sample.info.is_some();
        }
        ours
    }
}

/// Runs a client and its server.
fn run_with_server(
    listener: &dyn Accept,
    open: &Connector<'_>,
    load: &LoadPlan,
    out: Output,
    served: &ServedStreams,
) -> Result<LoadReport, CommandError> {
    let over = AtomicBool::new(false);
    let began = |pipe: &Arc<dyn ByteStream>| {
        served.pipes.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(pipe));
    };
    let done = |report: StreamReport| {
        served.reports.lock().unwrap_or_else(PoisonError::into_inner).push(report);
    };
    let plan = ServePlan { on_accept: &began, ..ServePlan::for_trusted(load.flows.len(), &over) };
    let work = || serve(listener, plan, &done);
    std::thread::scope(|scope| {
        let server = std::thread::Builder::new().spawn_scoped(scope, work);
        let server = server.map_err(failed("cannot start a thread"))?;
        let report = run(load, open, &STOP, &mut |interval| {
            let ours = served.fill_missing_info(interval);
            stream_report::interval(interval, ours, out);
        });
        over.store(true, Ordering::Relaxed);
        match server.join() {
            Ok(result) => drop(result.map_err(failed("the server"))?),
            Err(_) => return Err(CommandError::Run("the thread of the server panicked".into())),
        }
        Ok(report)
    })
}

/// Waits until connections have closed, while the network still forwards their packets.
fn wait_for_quiet(live: &Live) {
    let step = Duration::from_millis(2);
    let mut waited = Duration::ZERO;
    while waited < LINGER && live.stats().packets.connections > 0 {
        std::thread::sleep(step);
        waited += step;
    }
}

/// Shuts the host down.
fn end(live: Live) -> LiveStats {
    let linger = if STOP.load(Ordering::Relaxed) { LINGER_STOPPED } else { LINGER };
    live.shutdown(linger)
}

/// Notes memory pressure, which may have slowed connections.
fn note_memory(stats: &LiveStats, out: Output) {
    if stats.packets.memory_pressures > 0 {
        out.note("more than half of --memory was in use: connections were limited to fair shares");
    }
}

fn finish(
    host: &LiveHost,
    (live, bottleneck): (Live, Option<Bottleneck>),
    load: &LoadPlan,
    report: &LoadReport,
    served: &[StreamReport],
    out: Output,
) -> Result<(), CommandError> {
    let bottleneck = match bottleneck {
        // Stopped first: the end of our host would be reported as a lost device.
        Some(network) => {
            wait_for_quiet(&live);
            Some(link_report::rows(&network.stop().map_err(link::bottleneck_error)?))
        }
        None => None,
    };
    let stats = end(live);
    note_memory(&stats, out);
    stream_report::report(host, load, (report, served), &stats, bottleneck, out)?;
    if STOP.load(Ordering::Relaxed) {
        return Err(CommandError::Interrupted("the results until then are above".into()));
    }
    if report.all_verified() {
        return Ok(());
    }
    let bad = |s: &&StreamReport| !s.outcome.is_some_and(|o| o.checksums_match());
    let why: Vec<String> =
        report.streams.iter().filter(bad).map(stream_report::stream_error).collect();
    Err(CommandError::Run(why.join("; ")))
}
