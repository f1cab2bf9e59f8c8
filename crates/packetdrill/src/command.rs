//! Backquoted commands. None is run: `sysctl` settings from a fixed table apply to sockets created
//! afterwards; all else is ignored with a note.

use lowtide_tcp::{Config, switches};

/// `sysctl` names and the configuration switches they set.
const SYSCTLS: &[(&str, &str)] = &[
    ("tcp_ecn", "ecn"),
    ("tcp_ecn_fallback", "ecn-fallback"),
    ("tcp_timestamps", "timestamps"),
    ("tcp_sack", "sack"),
    ("tcp_dsack", "dsack"),
    ("tcp_window_scaling", "window-scaling"),
    ("tcp_congestion_control", "cc"),
    ("tcp_syn_retries", "syn-retries"),
    ("tcp_retries2", "retries"),
    ("tcp_slow_start_after_idle", "idle-restart"),
    ("tcp_rto_min_us", "rto-min"),
    ("tcp_rmem", "receive-buffer"),
    ("tcp_wmem", "send-buffer"),
];

/// Applies the known settings; returns notes on what was ignored.
pub(crate) fn apply(config: &mut Config, text: &str) -> Result<Vec<String>, String> {
    let (settings, mut notes) = sysctls(text);
    for (name, value) in settings {
        let short = name.rsplit('.').next().unwrap_or(&name);
        let known = SYSCTLS.iter().find(|(n, _)| *n == short).map(|(_, switch)| *switch);
        let Some(switch) = known.filter(|s| switches::find(s).is_some()) else {
            notes.push(format!("sysctl {name} is not known here and changes nothing"));
            continue;
        };
        let value = match short {
            "tcp_rto_min_us" => format!("{value}us"),
            // Minimum, default and maximum: autotuning is not modelled, so the maximum counts.
            "tcp_rmem" | "tcp_wmem" => {
                format!("{}B", value.split_whitespace().last().unwrap_or(""))
            }
            "tcp_timestamps" if value == "2" => "1".to_string(),
            _ => value,
        };
        crate::so_flags::set_switch(config, switch, &value)
            .map_err(|error| format!("sysctl {name}: {error}"))?;
    }
    Ok(notes)
}

/// The `sysctl` settings in a command, as name and value, and notes on what is ignored.
pub fn sysctls(text: &str) -> (Vec<(String, String)>, Vec<String>) {
    let (mut settings, mut notes) = (Vec::new(), Vec::new());
    for command in text.split([';', '\n']).flat_map(|c| c.split("&&")) {
        let mut words = command.split_whitespace();
        match words.next() {
            None => {}
            Some(first) if first == "sysctl" || first.ends_with("/sysctl") => {
                settings.extend(assignments(command));
            }
            Some(first) => notes.push(format!("`{first}` is not run: commands never are")),
        }
    }
    (settings, notes)
}

/// Splits `name=value` pairs; a quoted value may contain spaces.
fn assignments(command: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut rest = command;
    while let Some(eq) = rest.find('=') {
        let name = rest[..eq].split_whitespace().next_back().unwrap_or("").to_string();
        let name = name.trim_start_matches(['"', '\'']).to_string();
        let after = rest[eq + 1..].trim_start();
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (value, left) = match quote {
            Some(q) => after[1..].split_once(q).unwrap_or((&after[1..], "")),
            None => after.split_once(char::is_whitespace).unwrap_or((after, "")),
        };
        // An assignment quoted as a whole leaves a closing quote.
        out.push((name, value.trim_matches(['"', '\'']).to_string()));
        rest = left;
    }
    out
}

#[cfg(test)]
mod tests {
    use lowtide_tcp::EcnNegotiation;

    use super::*;

    #[test]
    fn known_settings_are_applied_and_the_rest_is_named() {
        let mut config = Config::default();
        let text = "sysctl -q net.ipv4.tcp_ecn=1 net.ipv4.tcp_rmem=\"4096 131072 500000\";
                    sysctl -w net.ipv4.tcp_timestamps=0 && sysctl net.ipv4.tcp_fwmark=1
                    rm -rf x";
        let notes = apply(&mut config, text).unwrap();
        assert_eq!((config.ecn, config.timestamps), (EcnNegotiation::Rfc3168, false));
        assert_eq!(config.receive_buffer.as_u64(), 500_000);
        assert_eq!(
            notes,
            [
                "`rm` is not run: commands never are",
                "sysctl net.ipv4.tcp_fwmark is not known here and changes nothing"
            ]
        );
        let error = apply(&mut config, "sysctl net.ipv4.tcp_congestion_control=x").unwrap_err();
        assert!(error.contains("tcp_congestion_control") && error.contains('x'), "{error}");
    }
}
