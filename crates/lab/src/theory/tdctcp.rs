//! Window growth of TDCTCP: algorithm 1.

use super::DomainError;

/// Window growth in segments per RTT without marks: 1 + 1 / (1 + alpha / 2), from 2 if nothing was
/// marked to 5/3 if everything was (algorithm 1, line 3).
///
/// # Errors
/// `alpha` is not from 0 to 1.
pub fn increase(alpha: f64) -> Result<f64, DomainError> {
    if (0.0..=1.0).contains(&alpha) {
        Ok(1.0 + 1.0 / (1.0 + alpha / 2.0))
    } else {
        Err(DomainError::Alpha(alpha))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_two_segments_to_five_thirds() {
        assert_eq!(increase(0.0), Ok(2.0));
        assert!((increase(1.0).unwrap() - 5.0 / 3.0).abs() < 1e-12);
        assert!((increase(0.5).unwrap() - 1.8).abs() < 1e-12);
        for alpha in [-0.1, 1.1, f64::NAN] {
            assert!(matches!(increase(alpha), Err(DomainError::Alpha(_))));
        }
    }
}
