//! Routes that name a control (`congctl`), with the command `ip`: those of the main table of the
//! thread's network namespace, unless stated otherwise.

use std::process::Command;

use crate::error::KernelError;

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

/// A route, as `ip -o route show` prints it on one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Route {
    /// `-4` or `-6`.
    family: &'static str,
    /// The line.
    pub(super) text: String,
}

impl Route {
    /// Returns the one route to `prefix` (`10.0.0.0/8`, `default`).
    ///
    /// # Errors
    /// There is none, or several, or `ip` fails.
    pub(super) fn to(prefix: &str) -> Result<Self, KernelError> {
        let family = if prefix.contains(':') { "-6" } else { "-4" };
        let text = ip(&[family, "-o", "route", "show", "exact", prefix])?;
        let fail = |message: &str| KernelError::Ip {
            arguments: format!("{family} route show exact {prefix}"),
            message: message.to_owned(),
        };
        let mut lines = text.lines();
        match (lines.next(), lines.next()) {
            (Some(route), None) => Ok(Self { family, text: route.to_owned() }),
            (None, _) => Err(fail("there is no such route")),
            (Some(_), Some(_)) => {
                Err(fail("there are several; change one with `ip route change ... congctl`"))
            }
        }
    }

    /// Returns the routes of all tables that name `control`.
    pub(super) fn with(control: &str) -> Result<Vec<Self>, KernelError> {
        let mut out = Vec::new();
        for family in ["-4", "-6"] {
            let text = ip(&[family, "-o", "route", "show", "table", "all"])?;
            let routes = text.lines().map(|line| Self { family, text: line.to_owned() });
            out.extend(routes.filter(|route| route.names(control)));
        }
        Ok(out)
    }

    fn names(&self, control: &str) -> bool {
        let mut words = self.text.split_whitespace();
        // `congctl lock NAME` keeps sockets from choosing another one.
        words.any(|word| word == "congctl")
            && words.find(|word| *word != "lock").is_some_and(|name| name == control)
    }

    /// Replaces the control that the route names by `control`; `None` removes it.
    ///
    /// # Errors
    /// The route has several next hops, which `ip route change` would lose; or `ip` fails.
    pub(super) fn change(&self, control: Option<&str>) -> Result<(), KernelError> {
        let mut arguments = vec![self.family, "route", "change"];
        arguments.extend(without_control(&self.text));
        arguments.extend(control.into_iter().flat_map(|name| ["congctl", name]));
        if arguments.contains(&"nexthop") {
            return Err(KernelError::Ip {
                arguments: arguments.join(" "),
                message: "a route with several next hops is not changed; do it by hand".to_owned(),
            });
        }
        ip(&arguments).map(drop)
    }

    /// Changes the route back to this, after [`Self::change`].
    pub(super) fn restore(&self) -> Result<(), KernelError> {
        let mut words = self.text.split_whitespace().skip_while(|word| *word != "congctl").skip(1);
        self.change(words.find(|word| *word != "lock"))
    }
}

/// Returns the words of a route as `ip route change` takes them, without a control.
fn without_control(route: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut words = route.split(|c: char| c.is_whitespace() || c == '\\').filter(|w| !w.is_empty());
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

    fn route(text: &str) -> Route {
        Route { family: "-4", text: text.to_owned() }
    }

    #[test]
    fn a_route_with_a_control_is_recognised_and_rewritten() {
        let own = "10.0.0.0/24 dev eth0 proto kernel scope link src 10.0.0.1 congctl lt_dctcp ";
        assert!(route(own).names("lt_dctcp"));
        assert!(!route(own).names("lt_tdctcp"));
        let locked = "default via 10.0.0.2 congctl lock lt_dctcp mtu 1500";
        assert!(route(locked).names("lt_dctcp"));
        assert!(!route("default via 10.0.0.2").names("lt_dctcp"));
        let words =
            without_control("default via 10.0.0.2 dev eth0 congctl lock reno linkdown mtu 1500");
        assert_eq!(words.join(" "), "default via 10.0.0.2 dev eth0 mtu 1500");
    }

    #[test]
    fn a_route_with_several_next_hops_is_not_changed() {
        let hops = "10.0.0.0/8 proto static \\\tnexthop via 10.1.0.1 dev a weight 1 \\\tnexthop via \
                    10.2.0.1 dev b weight 1";
        let error = route(hops).change(Some("reno")).unwrap_err().to_string();
        assert!(error.contains("several next hops"), "{error}");
    }
}
