//! `lowtide live proxy`: connections between the kernel's TCP and ours.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use lowtide_live::privileges::RetainedCapability;
use lowtide_live::relay::{Relay, RelayPlan, RelayStats};
use lowtide_units::Duration;
use serde_json::json;

use super::setup::{LiveHost, live_error};
use super::{end, failed, setup};
use crate::args::ProxyArgs;
use crate::error::CommandError;
use crate::interrupt::{STOP, watch_for_interrupt};
use crate::output::Output;

/// Polling interval of the reporting thread.
const POLL_INTERVAL: std::time::Duration = std::time::Duration::from_millis(20);

fn std(d: Duration) -> std::time::Duration {
    std::time::Duration::from_micros(d.as_us())
}

fn line(stats: &RelayStats) -> String {
    let RelayStats { open, accepted, closed, reset, unreachable, timed_out, idle, .. } = stats;
    let yielded = stats.too_slow + stats.replaced + stats.refused;
    let mb = |n: u64| n as f64 / 1e6;
    format!(
        "{open} open, {accepted} accepted, {closed} closed, {reset} reset, {unreachable} unreachable, {timed_out} \
         timed out, {idle} idle, {yielded} without a place; {:.1} MB to targets, {:.1} MB from them",
        mb(stats.bytes_to_targets),
        mb(stats.bytes_from_targets)
    )
}

pub(super) fn proxy(args: &ProxyArgs, out: Output) -> Result<(), CommandError> {
    let out = Output { json: out.json || args.own.as_json, ..out };
    let host = LiveHost::in_current_netns(&args.own)?;
    let live = host.start(&[RetainedCapability::LowPorts], out)?;
    let plan = RelayPlan {
        admission: args.least_rate.limits(args.max_connections, args.idle),
        buffer_size: usize::try_from(args.buffer).unwrap_or(usize::MAX),
        connect_timeout: std(args.connect),
        drain_timeout: std(args.drain),
        ..RelayPlan::new(args.routes.clone(), host.config.clone())
    };
    let relay = Relay::open(&live, plan).map_err(|e| live_error(&e))?;
    setup::drop_privileges()?;
    watch_for_interrupt()?;
    let ours: Vec<String> = host.plan.networks.iter().map(|s| s.local.to_string()).collect();
    out.note(&format!(
        "relaying {} route{}; our addresses: {}; Ctrl-C ends",
        args.routes.len(),
        if args.routes.len() == 1 { "" } else { "s" },
        ours.join(", ")
    ));
    let shared = relay.shared_stats();
    let over = AtomicBool::new(false);
    let relayed = std::thread::scope(|scope| {
        if args.interval > Duration::ZERO && !out.json {
            scope.spawn(|| show(&shared, std(args.interval), &over));
        }
        let relayed = relay.run(&STOP);
        over.store(true, Ordering::Relaxed);
        relayed
    });
    let stats = relayed.map_err(failed("the relay"))?;
    let driver = end(live);
    if !out.json {
        return out.text(&line(&stats));
    }
    let body = json!({
        "transport": host.requested,
        "routes": args.routes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "accepted": stats.accepted,
        "connected": stats.connected,
        "closed": stats.closed,
        "unreachable": stats.unreachable,
        "timed_out": stats.timed_out,
        "reset": stats.reset,
        "idle": stats.idle,
        "too_slow": stats.too_slow,
        "replaced": stats.replaced,
        "refused": stats.refused,
        "reset_at_shutdown": stats.reset_at_shutdown,
        "at_limit": stats.at_limit,
        "accept_errors": stats.accept_errors,
        "bytes_to_targets": stats.bytes_to_targets,
        "bytes_from_targets": stats.bytes_from_targets,
        "most_open": stats.max_open,
        "max_buffered_bytes": stats.max_buffered_bytes,
        "driver_cpu_seconds": driver.cpu.as_secs_f64(),
    });
    out.answer("lowtide.live-proxy/2", &body)
}

/// Prints a line for each interval in which the counters changed.
fn show(shared: &Mutex<RelayStats>, interval: std::time::Duration, over: &AtomicBool) {
    let (mut before, mut waited) = (RelayStats::default(), std::time::Duration::ZERO);
    while !over.load(Ordering::Relaxed) {
        std::thread::sleep(POLL_INTERVAL);
        waited += POLL_INTERVAL;
        if waited < interval {
            continue;
        }
        waited = std::time::Duration::ZERO;
        let now = *shared.lock().unwrap_or_else(PoisonError::into_inner);
        if now != before && Output::raw(&format!("{}\n", line(&now))).is_err() {
            // The reader of stdout is gone.
            STOP.store(true, Ordering::Relaxed);
        }
        before = now;
    }
}
