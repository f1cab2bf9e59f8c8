//! The windows of DX: DX §IV-B (eq. 1 to 8) and §IV-C.
//!
//! Contract: the model is N synchronised flows with base RTT R over one link of `bdp` = C x R
//! packets. Windows are in packets, delays are fractions of R. Each flow decides once per observed
//! queue, as in simulations with `dx.decide = "fresh-round"`.

use super::DomainError;
use super::domain::{check_bdp, check_flows};

/// The window without a queue: C x R / N (§IV-C, "ideal").
///
/// # Errors
/// `bdp` is not positive, or there are no `flows`.
pub fn ideal_window(bdp: f64, flows: f64) -> Result<f64, DomainError> {
    Ok(check_bdp(bdp)? / check_flows(flows)?)
}

/// W*, the window after all flows have grown by a packet: (C x R + N) / N (eq. 3; §IV-C, "theory").
///
/// # Errors
/// `bdp` is not positive, or there are no `flows`.
pub fn steady_window(bdp: f64, flows: f64) -> Result<f64, DomainError> {
    Ok(ideal_window(bdp, flows)? + 1.0)
}

/// V over R for a flow that knows only its own window W*: W* / (W* - 1) (eq. 8).
///
/// # Errors
/// The window is not above one packet.
pub fn coefficient(window: f64) -> Result<f64, DomainError> {
    if window.is_finite() && window > 1.0 {
        Ok(window / (window - 1.0))
    } else {
        Err(DomainError::Window(window))
    }
}

/// The window after an RTT in which `delay` was measured, as a fraction of R: eq. 1 with V of eq.
/// 8.
///
/// # Errors
/// The delay is negative, or the window is not above one packet and must decrease.
pub fn next_window(window: f64, delay: f64) -> Result<f64, DomainError> {
    match delay {
        d if !d.is_finite() || d < 0.0 => Err(DomainError::Delay(d)),
        d if d > 0.0 => Ok(window * (1.0 - d / coefficient(window)?)),
        _ => Ok(window + 1.0),
    }
}

/// The windows of two flows from `start` on, decision by decision, as drawn in §IV-C. Both observe
/// their common queue: the part of their windows above C x R.
///
/// # Errors
/// `bdp` is not positive, or a window is not above one packet.
pub fn converge(bdp: f64, start: [f64; 2]) -> Result<impl Iterator<Item = [f64; 2]>, DomainError> {
    check_bdp(bdp)?;
    for window in start {
        coefficient(window)?;
    }
    let next = move |[a, b]: &[f64; 2]| {
        let delay = ((a + b) / bdp - 1.0).max(0.0);
        Some([next_window(*a, delay).ok()?, next_window(*b, delay).ok()?])
    };
    Ok(std::iter::successors(Some(start), next))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{a} is not {b}");
    }

    /// 10 Gbit/s and 200 us in packets of 1500 B, as in DX fig. 8.
    const FIG8: f64 = 10e9 * 200e-6 / 12_000.0;

    #[test]
    fn the_windows_of_figure_8() {
        for (n, ideal, theory) in [(2.0, 83.33, 84.33), (5.0, 33.33, 34.33), (10.0, 16.67, 17.67)] {
            assert!((ideal_window(FIG8, n).unwrap() - ideal).abs() < 0.01);
            assert!((steady_window(FIG8, n).unwrap() - theory).abs() < 0.01);
        }
    }

    #[test]
    fn both_forms_of_v_agree_for_fair_shares() {
        for n in [1.0, 2.0, 7.0, 40.0] {
            let window = steady_window(FIG8, n).unwrap();
            // Eq. 7, with D = R / bdp.
            close(coefficient(window).unwrap(), (FIG8 + n) / FIG8);
        }
    }

    #[test]
    fn a_reduction_drains_exactly_the_queue() {
        // Eq. 5 and 6: N packets are queued, and afterwards the windows sum to C x R.
        for n in [2.0, 10.0, 40.0] {
            let window = steady_window(FIG8, n).unwrap();
            close(n * next_window(window, n / FIG8).unwrap(), FIG8);
            close(next_window(window, 0.0).unwrap(), window + 1.0);
        }
    }

    #[test]
    fn two_flows_converge_along_the_line_of_full_utilisation() {
        let windows: Vec<[f64; 2]> =
            converge(FIG8, [FIG8 - 2.0, 2.0]).unwrap().take(2_000).collect();
        let apart = |[a, b]: &[f64; 2]| (a - b).abs();
        assert!(windows.windows(2).all(|w| apart(&w[1]) <= apart(&w[0]) + 1e-9));
        assert!(apart(&windows[1_999]) < 0.01 * apart(&windows[0]));
        for [a, b] in &windows {
            assert!((-1.0..=2.001).contains(&(a + b - FIG8)), "{a} and {b}");
        }
    }

    #[test]
    fn values_outside_the_domain_are_errors() {
        assert_eq!(coefficient(1.0), Err(DomainError::Window(1.0)));
        assert_eq!(ideal_window(0.0, 2.0), Err(DomainError::Bdp(0.0)));
        assert_eq!(steady_window(10.0, 0.0), Err(DomainError::Flows(0.0)));
        assert_eq!(next_window(9.0, -0.1), Err(DomainError::Delay(-0.1)));
        assert!(next_window(9.0, f64::NAN).is_err());
        assert!(converge(FIG8, [FIG8, 1.0]).is_err());
    }
}
