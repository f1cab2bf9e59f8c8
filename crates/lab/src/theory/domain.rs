//! Domain checks of the analyses.

/// Parameter outside of the domain of an analysis.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
pub enum DomainError {
    /// The path has no capacity, or the number is not finite.
    #[error("the product of rate and round trip must be a positive number of packets, not {0}")]
    Bdp(f64),
    /// A threshold below zero.
    #[error("K must be zero packets or more, not {0}")]
    Threshold(f64),
    /// No flow.
    #[error("the analysis needs one flow or more, not {0}")]
    Flows(f64),
    /// Less than one packet per flow.
    #[error(
        "{flows} flows share {packets:.1} packets (C x RTT + K): below one packet each a window \
         cannot follow DCTCP §3.3"
    )]
    WindowBelowOne {
        /// N.
        flows: f64,
        /// C x RTT + K.
        packets: f64,
    },
    /// A window for which V of DX is undefined.
    #[error("DX eq. 8 needs a window of more than one packet, not {0}")]
    Window(f64),
    /// A negative queueing delay.
    #[error("a queueing delay must be zero or more, not {0}")]
    Delay(f64),
    /// Not a fraction.
    #[error("alpha is a share from 0 to 1, not {0}")]
    Alpha(f64),
}

pub(super) fn check_bdp(bdp: f64) -> Result<f64, DomainError> {
    if bdp.is_finite() && bdp > 0.0 { Ok(bdp) } else { Err(DomainError::Bdp(bdp)) }
}

pub(super) fn check_threshold(k: f64) -> Result<f64, DomainError> {
    if k.is_finite() && k >= 0.0 { Ok(k) } else { Err(DomainError::Threshold(k)) }
}

pub(super) fn check_flows(flows: f64) -> Result<f64, DomainError> {
    if flows.is_finite() && flows >= 1.0 { Ok(flows) } else { Err(DomainError::Flows(flows)) }
}
