//! Flows that arrive as a Poisson process at a load.
//!
//! ## Algorithm
//! One process for the whole group. Its rate is `flow-rate`, or follows from `load`: the payload
//! bits of all flows as a fraction of the sum of the sources' line rates. Sources are drawn in
//! proportion to their line rate, so all have the same load. The destination is any of `to` except
//! the source, equally likely. With `intra-rack` set, it is in the source's rack with that
//! probability and in another rack otherwise. Times, sizes and endpoints have separate random
//! generators: another size distribution changes neither times nor endpoints; another load keeps
//! the order of sizes and endpoints.

use lowtide_schema::DefaultValue::{Is, Required};
use lowtide_schema::{DistributionOf, Param, ValueKind};
use std::collections::BTreeMap;

use lowtide_sim::Rng;
use lowtide_units::{Duration, Fraction};

use super::{
    Arrivals, HostSelection, MAX_CONNECTIONS, Traffic, WorkloadArgs, WorkloadContext,
    WorkloadEntry, WorkloadError,
};
use crate::endpoints::{random_other, self_traffic_error};
use crate::open_loop::{ArrivalLimits, arrival_times};
use crate::round_robin::START;
use crate::{Cdf, Flow, WritePattern};

/// Parts per billion, the unit of fractions here.
const BILLION: u128 = 1_000_000_000;

/// `sizes`.
pub(crate) const SIZES: Param = Param {
    name: "sizes",
    kind: ValueKind::Distribution(DistributionOf::Size),
    default: Required,
    doc: "Payload bytes of the flows: one size, a built-in distribution or a file.",
    source: "lowtide",
};

/// `flows`.
pub(crate) const FLOWS: Param = Param {
    name: "flows",
    kind: ValueKind::Or { kind: &ValueKind::Count { min: 1, max: MAX_CONNECTIONS }, word: "off" },
    default: Is("off"),
    doc: "Most counted flows; `off` counts all until `[run] duration`. With `[run] end = \"counted-done\"` further flows keep the load up.",
    source: "lowtide",
};

/// `intra-rack`.
const INTRA_RACK: Param = Param {
    name: "intra-rack",
    kind: ValueKind::Or { kind: &ValueKind::SHARE, word: "off" },
    default: Is("off"),
    doc: "Probability that a flow stays in its rack; `off` ignores racks.",
    source: "lowtide",
};

/// Registration.
pub static ENTRY: WorkloadEntry = WorkloadEntry {
    name: "poisson",
    summary: "flows that arrive as a Poisson process at a load of the sources' lines",
    spec: "lowtide",
    host_selection: HostSelection::FromTo,
    arrivals: Arrivals::OpenLoop,
    params: &[
        SIZES,
        Param {
            name: "load",
            kind: ValueKind::Or {
                kind: &ValueKind::Fraction {
                    min: Fraction::from_ppm(1),
                    max: Fraction::from_percent(1_000),
                },
                word: "off",
            },
            default: Is("off"),
            doc: "Payload bits of all flows as a share of the sources' line rates; give this or `flow-rate`.",
            source: "lowtide",
        },
        Param {
            name: "flow-rate",
            kind: ValueKind::Or {
                kind: &ValueKind::Count { min: 1, max: 1_000_000_000 },
                word: "off",
            },
            default: Is("off"),
            doc: "Flows per second of the whole group.",
            source: "lowtide",
        },
        FLOWS,
        START,
        INTRA_RACK,
    ],
    traffic,
};

fn traffic(args: &WorkloadArgs, ctx: &WorkloadContext) -> Result<Traffic, WorkloadError> {
    let sizes = args.distribution("sizes")?;
    let mean = mean_gap(args, ctx, sizes)?;
    let mut ends = EndpointSampler::new(args, ctx)?;
    let most = args.values.find_count("flows").unwrap_or(u64::MAX);
    let (mut gaps, mut draws) = (args.rng(ctx, 0, "arrivals"), args.rng(ctx, 0, "sizes"));
    let limits = ArrivalLimits { most, limit: MAX_CONNECTIONS, what: "connections", processes: 1 };
    let arrivals = arrival_times(args, ctx, limits, || gaps.exponential(mean))?;
    let flow = |start| {
        let (src, dst) = ends.draw()?;
        let size = Some(sizes.draw_size(&mut draws));
        Some(Flow { group: args.group, src, dst, size, start, write_pattern: WritePattern::Bulk })
    };
    let flows = arrivals.times.into_iter().map(flow).collect::<Option<Vec<Flow>>>();
    let mut flows = flows.ok_or_else(|| self_traffic_error(args))?;
    let load = flows.split_off(arrivals.counted);
    if flows.is_empty() {
        let message = format!("no flow of [traffic.{}] starts before the run ends", args.name);
        return Err(WorkloadError::at(
            "start",
            message,
            "start earlier, run longer, or raise the load",
        ));
    }
    Ok(Traffic { flows, load, load_until: arrivals.until, ..Traffic::default() })
}

/// Returns the mean time between flows.
fn mean_gap(
    args: &WorkloadArgs,
    ctx: &WorkloadContext,
    sizes: &Cdf,
) -> Result<Duration, WorkloadError> {
    let (load, rate) = (args.values.find_fraction("load"), args.values.find_count("flow-rate"));
    let gap = match (load, rate) {
        (Some(load), None) => {
            let lines =
                args.sources.iter().map(|s| u128::from(ctx.rate(*s).as_bps())).sum::<u128>();
            let load = u128::try_from(load.as_ppb()).unwrap_or(0);
            // In one step, mean x 8 x 10^12 x 10^9 would overflow 128 bits for the largest sizes,
            // hence two steps.
            let bits = u128::from(sizes.mean().min(1 << 50)) * 8 * 1_000_000_000_000;
            let lines = (lines * load).div_ceil(BILLION).max(1);
            (bits + lines / 2) / lines
        }
        (None, Some(rate)) => 1_000_000_000_000 / u128::from(rate.max(1)),
        (both, _) => {
            let twice = both.is_some();
            let message = if twice {
                "the rate of the flows is given twice"
            } else {
                "the flows have no rate"
            };
            return Err(WorkloadError::at("load", message, "give `load` or `flow-rate`"));
        }
    };
    // Below one nanosecond the rounding to picoseconds would distort the load.
    if gap < 1_000 {
        let help = "lower the load, or use larger flows";
        let message = format!(
            "flows with a mean size of {} B would be more than one per nanosecond",
            sizes.mean()
        );
        return Err(WorkloadError::at("load", message, help));
    }
    Ok(Duration::from_ps(u64::try_from(gap).unwrap_or(u64::MAX)))
}

/// Hosts by rack.
type Racks = BTreeMap<Option<u32>, Vec<u32>>;

/// Draws sources and destinations.
struct EndpointSampler<'a> {
    args: &'a WorkloadArgs,
    ctx: &'a WorkloadContext,
    rng: Rng,
    /// Sums of the sources' line rates, up to and including each, in bit/s.
    cumulative_rates: Vec<u64>,
    /// Destinations by rack, if `intra-rack` is set.
    racks: Option<(Fraction, Racks)>,
}

impl<'a> EndpointSampler<'a> {
    fn new(args: &'a WorkloadArgs, ctx: &'a WorkloadContext) -> Result<Self, WorkloadError> {
        let add = |sum: &mut u64, host: &u32| {
            *sum = sum.saturating_add(ctx.rate(*host).as_bps());
            Some(*sum)
        };
        let upto: Vec<u64> = args.sources.iter().scan(0, add).collect();
        let racks = args.values.find_fraction("intra-rack").map(|share| {
            let mut racks = Racks::new();
            for host in &args.destinations {
                racks.entry(ctx.rack(*host)).or_default().push(*host);
            }
            (share, racks)
        });
        if let Some((share, racks)) = &racks {
            for source in &args.sources {
                let own = racks.get(&ctx.rack(*source)).map_or(&[][..], Vec::as_slice);
                let near = own.iter().any(|host| host != source);
                let far = own.len() < args.destinations.len();
                let name = ctx.hosts.get(*source as usize).map_or("?", |h| h.name.as_str());
                if *share > Fraction::ZERO && !near {
                    let message = format!("`{name}` has no destination in its rack");
                    return Err(WorkloadError::at(
                        "intra-rack",
                        message,
                        "name one in `to`, or write 0 %",
                    ));
                }
                if *share < Fraction::ONE && !far {
                    let message = format!("`{name}` has no destination outside its rack");
                    return Err(WorkloadError::at(
                        "intra-rack",
                        message,
                        "name one in `to`, or write 100 %",
                    ));
                }
            }
        }
        Ok(Self { args, ctx, rng: args.rng(ctx, 0, "ends"), cumulative_rates: upto, racks })
    }

    fn draw(&mut self) -> Option<(u32, u32)> {
        let at = self.rng.below(*self.cumulative_rates.last()?);
        let src =
            *self.args.sources.get(self.cumulative_rates.partition_point(|upto| *upto <= at))?;
        let all = &self.args.destinations;
        let Some((share, racks)) = &self.racks else {
            return Some((src, random_other(&mut self.rng, all, src)?));
        };
        let own = racks.get(&self.ctx.rack(src)).map_or(&[][..], Vec::as_slice);
        if self.rng.chance(u64::try_from(share.as_ppb()).unwrap_or(0)) {
            return Some((src, random_other(&mut self.rng, own, src)?));
        }
        loop {
            // `new` checked that one exists. A rack usually holds few of the destinations.
            let dst = random_other(&mut self.rng, all, src)?;
            if self.ctx.rack(dst) != self.ctx.rack(src) {
                return Some((src, dst));
            }
        }
    }
}

#[cfg(test)]
mod tests;
