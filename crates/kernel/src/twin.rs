//! The twins: BPF controls, their schemes and parameters.

#[cfg(any(feature = "objects", test))]
use lowtide_schema::Values;
use lowtide_schema::{DefaultValue, Param, ValueKind};

use crate::error::KernelError;

/// Ends of a connection that a twin changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ends {
    /// Sender and receiver.
    Both,
    /// The sender, for receivers of classic ECN.
    Sender,
    /// The receiver, for senders of classic ECN.
    Receiver,
}

/// One congestion control for the kernel.
#[derive(Debug)]
pub struct Twin {
    /// Name in the kernel, at most 15 characters.
    pub name: &'static str,
    /// Scheme of lowtide whose rules it has.
    pub scheme: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Ends of a connection that it changes.
    pub ends: Ends,
    /// Its parameters.
    pub params: &'static [Param],
}

impl Twin {
    /// Returns what the control cannot do for connections with this `net.ipv4.tcp_ecn`; `None` if
    /// nothing. Controls with a receiving half negotiate ECN whatever the setting.
    pub fn limit(&self, tcp_ecn: &str) -> Option<&'static str> {
        match (self.scheme, self.ends, tcp_ecn) {
            (_, Ends::Sender, "0") => Some("no connection has ECN: the control is NewReno"),
            (_, Ends::Sender, "2" | "5") => {
                Some("connections that this host opens have no ECN: the control is NewReno there")
            }
            ("odctcp" | "odctcp-receiver", _, "3" | "4" | "5") => Some(
                "with a peer of AccECN the kernel counts CE: the receiving half does nothing there",
            ),
            _ => None,
        }
    }
}

const SHIFT_G: Param = Param {
    name: "shift-g",
    kind: ValueKind::Count { min: 0, max: 10 },
    default: DefaultValue::Is("4"),
    doc: "Gain of alpha as a power of two: g = 2^-shift-g.",
    source: "DCTCP paper, SIGCOMM 2010 §4",
};

const INITIAL_ALPHA: Param = Param {
    name: "initial-alpha",
    kind: ValueKind::Count { min: 0, max: 1024 },
    default: DefaultValue::Is("1024"),
    doc: "Alpha at the start, in 1/1024.",
    source: "RFC 8257 §3.3",
};

const AFTER_IDLE: Param = Param {
    name: "after-idle",
    kind: ValueKind::Choice(&["keep", "reset"]),
    default: DefaultValue::Is("keep"),
    doc: "Alpha after an idle time of one RTO: kept, or reset to its initial value.",
    source: "RFC 8257 is silent; ODCTCP §4.2.3 resets",
};

const fn window_floor(default: &'static str) -> Param {
    Param {
        name: "window-floor",
        kind: ValueKind::Count { min: 1, max: 16 },
        default: DefaultValue::Is(default),
        doc: "Minimum window after a reaction, in segments.",
        source: "RFC 5681 §3.1 eq. 4; TDCTCP §IV-C has one",
    }
}

const DCTCP_PARAMS: &[Param] = &[SHIFT_G, INITIAL_ALPHA, AFTER_IDLE, window_floor("2")];

/// All twins, by name.
pub static TWINS: &[Twin] = &[
    Twin {
        name: "lt_dctcp",
        scheme: "dctcp",
        summary: "DCTCP at both ends (RFC 8257)",
        ends: Ends::Both,
        params: DCTCP_PARAMS,
    },
    Twin {
        name: "lt_odctcp",
        scheme: "odctcp",
        summary: "one-sided DCTCP, both halves, for listeners",
        ends: Ends::Both,
        params: DCTCP_PARAMS,
    },
    Twin {
        name: "lt_odctcp_rcv",
        scheme: "odctcp-receiver",
        summary: "one-sided DCTCP receiver, for listeners with peers of classic ECN",
        ends: Ends::Receiver,
        params: DCTCP_PARAMS,
    },
    Twin {
        name: "lt_odctcp_snd",
        scheme: "odctcp-sender",
        summary: "one-sided DCTCP sender, for peers of classic ECN; the connecting end needs tcp_ecn = 1",
        ends: Ends::Sender,
        params: DCTCP_PARAMS,
    },
    Twin {
        name: "lt_tdctcp",
        scheme: "tdctcp",
        summary: "TDCTCP without its adaptive delayed-ACK timer, with one cut per window",
        ends: Ends::Both,
        params: &[SHIFT_G, INITIAL_ALPHA, AFTER_IDLE, window_floor("1")],
    },
];

/// Returns the twin of that name, or of that scheme.
///
/// # Errors
/// No twin has that name.
pub fn find_twin(name: &str) -> Result<&'static Twin, KernelError> {
    TWINS.iter().find(|twin| twin.name == name || twin.scheme == name).ok_or_else(|| {
        let known: Vec<&str> = TWINS.iter().map(|twin| twin.name).collect();
        KernelError::UnknownTwin { name: name.to_owned(), known: known.join(", ") }
    })
}

/// Size of `struct lt_dctcp_params` in `kernel/rules/dctcp.h`.
#[cfg(any(feature = "objects", test))]
pub(crate) const PARAMS_SIZE: usize = 16;

/// Returns the parameters as `struct lt_dctcp_params`.
#[cfg(any(feature = "objects", test))]
pub(crate) fn encode(values: &Values) -> [u8; PARAMS_SIZE] {
    let words = [
        values.count("shift-g") as u32,
        values.count("initial-alpha") as u32,
        u32::from(values.name("after-idle") == "reset"),
        values.count("window-floor") as u32,
    ];
    let mut out = [0; PARAMS_SIZE];
    for (slot, word) in out.chunks_exact_mut(4).zip(words) {
        slot.copy_from_slice(&word.to_ne_bytes());
    }
    out
}

/// Returns the values that `bytes` encode, as `name=value`.
#[cfg(any(feature = "objects", test))]
pub(crate) fn decode(bytes: &[u8]) -> Vec<(&'static str, String)> {
    let word = |i: usize| {
        let bytes: Option<[u8; 4]> = bytes.get(4 * i..4 * i + 4).and_then(|b| b.try_into().ok());
        bytes.map_or(0, u32::from_ne_bytes)
    };
    let after_idle = if word(2) == 1 { "reset" } else { "keep" };
    vec![
        ("shift-g", word(0).to_string()),
        ("initial-alpha", word(1).to_string()),
        ("after-idle", after_idle.to_owned()),
        ("window-floor", word(3).to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_the_kernel_and_do_not_clash_with_its_own() {
        for twin in TWINS {
            assert!(twin.name.len() <= 15, "{}", twin.name);
            assert!(twin.name.starts_with("lt_"), "{}", twin.name);
            assert_eq!(find_twin(twin.name).unwrap().scheme, twin.scheme);
            assert_eq!(find_twin(twin.scheme).unwrap().name, twin.name);
        }
        assert!(find_twin("cubic").unwrap_err().to_string().contains("lt_dctcp"));
    }

    #[test]
    fn modes_of_ecn_that_a_control_cannot_use_are_named() {
        let limited = |name: &str| -> Vec<&str> {
            let twin = find_twin(name).unwrap();
            ["0", "1", "2", "3", "4", "5"].into_iter().filter(|m| twin.limit(m).is_some()).collect()
        };
        assert_eq!(limited("lt_odctcp_snd"), ["0", "2", "5"]);
        assert_eq!(limited("lt_odctcp_rcv"), ["3", "4", "5"]);
        assert_eq!(limited("lt_dctcp"), [""; 0]);
    }

    #[test]
    fn parameters_survive_their_encoding() {
        let given = [("shift-g", "7"), ("after-idle", "reset")];
        let values = Values::parse(DCTCP_PARAMS, &given).unwrap();
        let decoded = decode(&encode(&values));
        let shown: Vec<String> = values.iter().map(|(name, v)| format!("{name}={v}")).collect();
        let back: Vec<String> = decoded.iter().map(|(name, v)| format!("{name}={v}")).collect();
        assert_eq!(shown, back);
    }

    #[test]
    fn a_parameter_out_of_range_is_an_error_that_says_the_range() {
        let error = Values::parse(DCTCP_PARAMS, &[("shift-g", "11")]).unwrap_err().to_string();
        assert!(error.contains("shift-g") && error.contains("0 to 10"), "{error}");
    }
}
