//! Fault injection on packets from a host into the network.
//!
//! Contract: faults apply between a host's device and its link. Each kind of fault of each host has
//! its own random generator, so changing one probability does not change the draws of another.
//! Order: the ECN codepoint is bleached, CE is set, a bit is flipped, the packet is delayed, it is
//! duplicated. Loss is a property of the link ([`lowtide_net::LineSpec::loss`]).

use lowtide_sim::{Rng, Seed};
use lowtide_units::{Duration, Fraction, parse_duration, parse_fraction};
use lowtide_wire::Ecn;

use crate::error::BottleneckError;
use crate::header::set_ecn;

/// Probabilities of faults per packet from a host; zero by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Faults {
    /// Loss on the link.
    pub loss: Fraction,
    /// Delay, so that later packets overtake.
    pub reorder: Fraction,
    /// Delay of a reordered packet.
    pub reorder_delay: Duration,
    /// Duplication, directly behind the original.
    pub duplicate: Fraction,
    /// Flip of one random bit. Excluded are bits that no checksum covers: the version; with IPv6
    /// the first six bytes and the hop limit.
    pub corrupt: Fraction,
    /// CE set on an ECN-capable packet.
    pub ce: Fraction,
    /// ECN codepoint cleared, also from CE.
    pub bleach: Fraction,
}

impl Default for Faults {
    fn default() -> Self {
        let none = Fraction::ZERO;
        let delay = Duration::from_ms(1);
        Self {
            loss: none,
            reorder: none,
            reorder_delay: delay,
            duplicate: none,
            corrupt: none,
            ce: none,
            bleach: none,
        }
    }
}

impl Faults {
    /// Sets the fault `text`: `KIND=SHARE`, for example `loss=1%`, or `reorder=1%/2ms` with the
    /// delay of reordered packets.
    ///
    /// # Errors
    /// The kind is unknown, or the share is not from 0 to 100 %.
    pub fn set(&mut self, text: &str) -> Result<(), BottleneckError> {
        let invalid = || BottleneckError::Fault(text.to_owned());
        let (kind, value) = text.split_once('=').ok_or_else(invalid)?;
        let (share, delay) = match value.split_once('/') {
            Some((share, delay)) => {
                (share, Some(parse_duration(delay.trim()).map_err(|_| invalid())?))
            }
            None => (value, None),
        };
        let share = parse_fraction(share.trim()).map_err(|_| invalid())?;
        if !(0..=1_000_000_000).contains(&share.as_ppb()) || (delay.is_some() && kind != "reorder")
        {
            return Err(invalid());
        }
        let field = match kind.trim() {
            "loss" => &mut self.loss,
            "reorder" => &mut self.reorder,
            "duplicate" => &mut self.duplicate,
            "corrupt" => &mut self.corrupt,
            "ce" => &mut self.ce,
            "bleach" => &mut self.bleach,
            _ => return Err(invalid()),
        };
        *field = share;
        self.reorder_delay = delay.unwrap_or(self.reorder_delay);
        Ok(())
    }
}

/// Packets with injected faults so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultCounts {
    /// Delayed.
    pub reordered: u64,
    /// Duplicated.
    pub duplicated: u64,
    /// With a flipped bit.
    pub corrupted: u64,
    /// On which CE was set by fault injection.
    pub ce: u64,
    /// ECN-capable packets whose codepoint was cleared.
    pub bleached: u64,
}

/// A probability and its random generator.
#[derive(Clone, Debug)]
struct FaultProbability {
    ppb: u64,
    rng: Rng,
}

impl FaultProbability {
    fn new(fraction: Fraction, seed: u64, host: u32, purpose: &str) -> Self {
        let ppb = u64::try_from(fraction.as_ppb()).unwrap_or(0);
        Self { ppb, rng: Seed::derive(seed, "host", u64::from(host), purpose).rng() }
    }

    fn draw(&mut self) -> bool {
        self.ppb > 0 && self.rng.chance(self.ppb)
    }
}

/// Fault injection of one host.
#[derive(Clone, Debug)]
pub(crate) struct FaultInjector {
    reorder_delay: Duration,
    reorder: FaultProbability,
    duplicate: FaultProbability,
    corrupt: FaultProbability,
    ce: FaultProbability,
    bleach: FaultProbability,
    pub(crate) counts: FaultCounts,
}

/// Further handling of a packet after its bytes were changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct FaultOutcome {
    /// Delay before it enters the network.
    pub(crate) delay: Option<Duration>,
    /// Whether it is duplicated.
    pub(crate) duplicate: bool,
}

impl FaultInjector {
    /// Creates an injector; `None` if there are no faults other than loss.
    pub(crate) fn new(faults: &Faults, seed: u64, host: u32) -> Option<Box<Self>> {
        let probability = |fraction, purpose| FaultProbability::new(fraction, seed, host, purpose);
        let injector = Self {
            reorder_delay: faults.reorder_delay,
            reorder: probability(faults.reorder, "fault-reorder"),
            duplicate: probability(faults.duplicate, "fault-duplicate"),
            corrupt: probability(faults.corrupt, "fault-corrupt"),
            ce: probability(faults.ce, "fault-ce"),
            bleach: probability(faults.bleach, "fault-bleach"),
            counts: FaultCounts::default(),
        };
        let Self { reorder, duplicate, corrupt, ce, bleach, .. } = &injector;
        let any = [reorder, duplicate, corrupt, ce, bleach].into_iter().any(|s| s.ppb > 0);
        any.then(|| Box::new(injector))
    }

    /// Applies faults to a packet with codepoint `ecn`. Returns its new codepoint.
    pub(crate) fn apply(&mut self, bytes: &mut [u8], mut ecn: Ecn) -> (Ecn, FaultOutcome) {
        if self.bleach.draw() && ecn != Ecn::NotEct {
            ecn = Ecn::NotEct;
            set_ecn(bytes, ecn);
            self.counts.bleached += 1;
        }
        if self.ce.draw() && matches!(ecn, Ecn::Ect0 | Ecn::Ect1) {
            ecn = Ecn::Ce;
            set_ecn(bytes, ecn);
            self.counts.ce += 1;
        }
        if self.corrupt.draw() {
            flip_bit(bytes, &mut self.corrupt.rng);
            self.counts.corrupted += 1;
        }
        let delay = self.reorder.draw().then_some(self.reorder_delay);
        let duplicate = self.duplicate.draw();
        self.counts.reordered += u64::from(delay.is_some());
        self.counts.duplicated += u64::from(duplicate);
        (ecn, FaultOutcome { delay, duplicate })
    }
}

/// Flips one bit that a checksum covers.
fn flip_bit(bytes: &mut [u8], rng: &mut Rng) {
    const V6_NEXT_HEADER: usize = 6;
    const V6_HOP_LIMIT: usize = 7;
    let v6 = bytes.first().is_some_and(|b| b >> 4 == 6);
    let from = if v6 { V6_NEXT_HEADER } else { 1 };
    loop {
        let bit = rng.below((bytes.len().saturating_sub(from) * 8) as u64) as usize;
        let at = from + bit / 8;
        if v6 && at == V6_HOP_LIMIT {
            continue;
        }
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << (bit % 8);
        }
        return;
    }
}

#[cfg(test)]
mod tests {
    use lowtide_wire::{Addresses, Segment, packet};

    use super::*;

    fn faults(specs: &[&str]) -> Faults {
        let mut faults = Faults::default();
        for text in specs {
            faults.set(text).unwrap();
        }
        faults
    }

    #[test]
    fn faults_parse() {
        let got = faults(&["loss=1%", "reorder=2%/3ms", "bleach=100 %"]);
        let expected = Faults {
            loss: Fraction::from_percent(1),
            reorder: Fraction::from_percent(2),
            reorder_delay: Duration::from_ms(3),
            bleach: Fraction::from_percent(100),
            ..Faults::default()
        };
        assert_eq!(got, expected);
        for bad in [
            "loss",
            "loss=2",
            "loss=101%",
            "loss=-1%",
            "loss=1%/2ms",
            "reorder=1%/2",
            "fire=1%",
            "ce=",
        ] {
            let error = Faults::default().set(bad).unwrap_err().to_string();
            assert!(error.contains("reorder=1%/2ms"), "{bad}: {error}");
        }
        assert!(FaultInjector::new(&faults(&["loss=1%"]), 1, 0).is_none());
    }

    fn bytes(v6: bool) -> Vec<u8> {
        let (src, dst) = if v6 { ("fd77::1", "fd77::2") } else { ("10.0.0.1", "10.9.8.7") };
        let addresses = Addresses::between(src.parse().unwrap(), dst.parse().unwrap()).unwrap();
        let segment = Segment { payload_len: 100, ecn: Ecn::Ect0, ..Segment::default() };
        let mut out = vec![0; 200];
        let len = packet::emit(&addresses, &segment, &[0x5a; 100], &mut out).unwrap();
        out.truncate(len);
        out
    }

    #[test]
    fn every_corrupted_packet_fails_a_check() {
        for v6 in [false, true] {
            let mut injector = FaultInjector::new(&faults(&["corrupt=100%"]), 3, 0).unwrap();
            for i in 0..20_000 {
                let mut packet = bytes(v6);
                injector.apply(&mut packet, Ecn::Ect0);
                assert_ne!(packet, bytes(v6), "{i}");
                // A shorter length truncates the payload; the checksum of the rest is wrong.
                assert!(packet::parse(&packet).is_err(), "v6 {v6}: {i}");
            }
            assert_eq!(injector.counts.corrupted, 20_000);
        }
    }

    #[test]
    fn probabilities_are_kept_counted_and_independent() {
        let run = |specs: &[&str]| {
            let mut injector = FaultInjector::new(&faults(specs), 7, 1).unwrap();
            let outcomes: Vec<FaultOutcome> =
                (0..100_000).map(|_| injector.apply(&mut bytes(false), Ecn::Ect0).1).collect();
            (outcomes, injector.counts)
        };
        let (alone, counts) = run(&["reorder=1%"]);
        assert!((850..1_150).contains(&counts.reordered), "{counts:?}");
        assert_eq!(counts.reordered, alone.iter().filter(|f| f.delay.is_some()).count() as u64);
        let (both, counts) = run(&["reorder=1%", "duplicate=10%", "ce=50%", "bleach=50%"]);
        assert!(both.iter().zip(&alone).all(|(a, b)| a.delay == b.delay));
        assert!((9_500..10_500).contains(&counts.duplicated), "{counts:?}");
        assert!((49_000..51_000).contains(&counts.bleached), "{counts:?}");
        assert!((24_000..26_000).contains(&counts.ce), "a bleached packet gets no CE: {counts:?}");
    }

    #[test]
    fn packets_that_are_not_ecn_capable_are_not_marked() {
        let mut injector = FaultInjector::new(&faults(&["ce=100%"]), 7, 1).unwrap();
        assert_eq!(injector.apply(&mut bytes(false), Ecn::NotEct).0, Ecn::NotEct);
        assert_eq!(injector.apply(&mut bytes(false), Ecn::Ce).0, Ecn::Ce);
        assert_eq!(injector.counts.ce, 0);
    }
}
