//! Selects a loaded twin for a route, with the command `ip`.

use std::process::Command;

use super::kernel;
use crate::error::KernelError;
use crate::twin::Twin;

/// Runs `ip` and returns its output.
fn ip(arguments: &[&str]) -> Result<String, KernelError> {
    let failed = |message: String| KernelError::Ip { arguments: arguments.join(" "), message };
    let output = Command::new("ip")
        .args(arguments)
        .output()
        .map_err(|e| failed(format!("{e}; install iproute2")))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the routes of this namespace that name a control, as `ip route` shows them.
///
/// # Errors
/// `ip` fails.
pub(super) fn routes_with(control: &str) -> Result<Vec<String>, KernelError> {
    let mut out = Vec::new();
    for family in ["-4", "-6"] {
        let text = ip(&[family, "route", "show", "table", "all"])?;
        out.extend(text.lines().filter(|line| names_control(line, control)).map(str::to_owned));
    }
    Ok(out)
}

fn names_control(route: &str, control: &str) -> bool {
    let mut words = route.split_whitespace();
    // `congctl lock NAME` keeps sockets from choosing another one.
    words.any(|word| word == "congctl")
        && words.find(|word| *word != "lock").is_some_and(|name| name == control)
}

/// Makes `twin` the control of connections over the route to `prefix` (`10.0.0.0/8`, `default`),
/// which exists already in the main table of this namespace.
///
/// # Errors
/// The twin is not loaded, there is no such route, or `ip` fails.
pub fn select_for_route(twin: &'static Twin, prefix: &str) -> Result<(), KernelError> {
    if !kernel::is_registered(twin.name)? {
        return Err(KernelError::NotLoaded(twin.name.to_owned()));
    }
    let shown = ip(&["route", "show", "exact", prefix])?;
    let Some(route) = shown.lines().next() else {
        return Err(KernelError::Ip {
            arguments: format!("route show exact {prefix}"),
            message: "there is no such route".to_owned(),
        });
    };
    let words = without_control(route);
    let mut arguments = vec!["route", "change"];
    arguments.extend(words);
    arguments.extend(["congctl", twin.name]);
    ip(&arguments).map(drop)
}

/// Returns the words of a route as `ip route change` takes them, without a control.
fn without_control(route: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut words = route.split_whitespace().peekable();
    while let Some(word) = words.next() {
        match word {
            "congctl" => {
                if words.next() == Some("lock") {
                    words.next();
                }
            }
            // States of the route, not properties.
            "linkdown" | "dead" | "offload" | "trap" => {}
            _ => out.push(word),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_with_a_control_is_recognised_and_rewritten() {
        let route = "10.0.0.0/24 dev eth0 proto kernel scope link src 10.0.0.1 congctl lt_dctcp ";
        assert!(names_control(route, "lt_dctcp"));
        assert!(!names_control(route, "lt_tdctcp"));
        assert!(names_control("default via 10.0.0.2 congctl lock lt_dctcp mtu 1500", "lt_dctcp"));
        assert!(!names_control("default via 10.0.0.2", "lt_dctcp"));
        let words =
            without_control("default via 10.0.0.2 dev eth0 congctl lock reno linkdown mtu 1500");
        assert_eq!(words.join(" "), "default via 10.0.0.2 dev eth0 mtu 1500");
    }
}
