//! Mixed deployment: the hosts that a seed moves.
//!
//! Contract: the order in which hosts or racks are drawn depends on the seed and on the hosts of
//! the table only. The moved hosts of a share are the first of that order. So a greater share moves
//! the hosts of a smaller one and more, and no other random draw of the run changes.

use std::collections::BTreeMap;

use lowtide_net::Blueprint;
use lowtide_rows::DeploymentClass;
use lowtide_sim::Seed;

use crate::model::{DeploymentTable, HostDraw, ScenarioModel};
use crate::toml_tree::SourceSpan;

/// Parts per billion of a whole.
const WHOLE: u128 = 1_000_000_000;

/// Deviation of a share from a whole number of hosts that is taken for rounding: shares are written
/// in percent with four decimals.
const ROUNDING: u128 = 1_000;

/// Location, message and help.
type SpannedError = (SourceSpan, String, String);

/// Returns the class of every host; `None` without a deployment.
pub(crate) fn classes(
    model: &ScenarioModel,
    network: &Blueprint,
    seed: u64,
) -> Option<Vec<DeploymentClass>> {
    let table = model.deployment.as_ref()?;
    let mut out = vec![DeploymentClass::Old; model.host_count() as usize];
    let mut units = units(table, network);
    // `check` has reported shares that are no whole number of units.
    let moved = whole_units(table, units.len()).unwrap_or(0);
    let mut rng = Seed::derive(seed, "deployment", 0, "order").rng();
    for i in (1..units.len()).rev() {
        units.swap(i, rng.below(i as u64 + 1) as usize);
    }
    for host in units.iter().take(moved).flatten() {
        out[*host as usize] = DeploymentClass::New;
    }
    Some(out)
}

/// Checks that the share is a whole number of hosts or racks.
pub(crate) fn check(model: &ScenarioModel, network: &Blueprint) -> Result<(), SpannedError> {
    let Some(table) = &model.deployment else { return Ok(()) };
    let units = units(table, network);
    let sizes = || units.iter().map(Vec::len);
    if sizes().min() != sizes().max() {
        let message = format!(
            "the racks of this deployment have {} to {} hosts, so a share of the racks is no share \
             of the hosts",
            sizes().min().unwrap_or(0),
            sizes().max().unwrap_or(0)
        );
        return Err((table.at, message, "write `draw = \"random\"`".to_owned()));
    }
    if whole_units(table, units.len()).is_some() {
        return Ok(());
    }
    let (n, share) = (units.len(), table.share.as_ppb() as f64 / 1e9);
    let [unit, more] = match table.draw {
        HostDraw::Random => ["host", ""],
        HostDraw::Rack => ["rack", "; `draw = \"random\"` divides by hosts"],
    };
    let counted = |k: usize| format!("{k} {unit}{}", if k == 1 { "" } else { "s" });
    let near = |k: usize| format!("{} ({})", percent(k as f64 / n as f64), counted(k));
    let below = (share * n as f64).floor() as usize;
    let message = format!(
        "a share of {} of {} is {:.2} {unit}s",
        percent(share),
        counted(n),
        share * n as f64
    );
    let help =
        format!("the nearest shares are {} and {}{more}", near(below), near((below + 1).min(n)));
    Err((table.share_at, message, help))
}

/// Formats a share in percent with up to four decimals.
fn percent(share: f64) -> String {
    let text = format!("{:.4}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Returns the hosts that move together, in the order of the table.
fn units(table: &DeploymentTable, network: &Blueprint) -> Vec<Vec<u32>> {
    if table.draw == HostDraw::Random {
        return table.hosts.iter().map(|host| vec![*host]).collect();
    }
    let racks = network.racks();
    let mut of_rack: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for host in &table.hosts {
        of_rack.entry(racks.get(*host as usize).copied().unwrap_or(0)).or_default().push(*host);
    }
    of_rack.into_values().collect()
}

/// Returns the number of units that the share moves; `None` if it is no whole number.
fn whole_units(table: &DeploymentTable, units: usize) -> Option<usize> {
    let share = u128::try_from(table.share.as_ppb()).unwrap_or(0);
    let n = units as u128;
    let whole = (share * n + WHOLE / 2) / WHOLE;
    ((share * n).abs_diff(whole * WHOLE) <= ROUNDING * n).then_some(whole as usize)
}
