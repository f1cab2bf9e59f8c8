//! What goes wrong on the way from a host into the network, on purpose.
//!
//! Contract: a fault meets a packet between its host's device and its host's line, before anything else; each kind
//! of each host has a generator of its own, so that one share changes no other's draws. In this order: the ECN
//! codepoint is bleached, CE is set, a bit is flipped, the packet is late, there is a second one. Loss is the
//! line's own ([`lowtide_net::LineSpec::loss`]).

use lowtide_sim::{Rng, Seed};
use lowtide_units::{Duration, Fraction, parse_duration, parse_fraction};
use lowtide_wire::Ecn;

use crate::error::BottleneckError;
use crate::header::set_ecn;

/// Shares of the packets that a host sends; all zero unless set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Faults {
    /// Lost on the line.
    pub loss: Fraction,
    /// Held back, so that others overtake.
    pub reorder: Fraction,
    /// For how long they are held back.
    pub reorder_delay: Duration,
    /// Sent a second time, right behind the first.
    pub duplicate: Fraction,
    /// One bit of it is wrong, anywhere but where no checksum looks (the version; with IPv6 the first six bytes and
    /// the hop limit).
    pub corrupt: Fraction,
    /// CE is set on those that are ECN-capable.
    pub ce: Fraction,
    /// Made not ECN-capable, CE included.
    pub bleach: Fraction,
}

impl Default for Faults {
    fn default() -> Self {
        let none = Fraction::ZERO;
        let late = Duration::from_ms(1);
        Self {
            loss: none,
            reorder: none,
            reorder_delay: late,
            duplicate: none,
            corrupt: none,
            ce: none,
            bleach: none,
        }
    }
}

impl Faults {
    /// Adds the fault `text`: `KIND=SHARE`, for instance `loss=1%`, or `reorder=1%/2ms` with the delay of those that
    /// are late.
    ///
    /// # Errors
    /// Another kind, or no share from 0 to 100 %.
    pub fn set(&mut self, text: &str) -> Result<(), BottleneckError> {
        let wrong = || BottleneckError::Fault(text.to_owned());
        let (kind, value) = text.split_once('=').ok_or_else(wrong)?;
        let (share, late) = match value.split_once('/') {
            Some((share, late)) => (share, Some(parse_duration(late.trim()).map_err(|_| wrong())?)),
            None => (value, None),
        };
        let share = parse_fraction(share.trim()).map_err(|_| wrong())?;
        if !(0..=1_000_000_000).contains(&share.as_ppb()) || (late.is_some() && kind != "reorder") {
            return Err(wrong());
        }
        let place = match kind.trim() {
            "loss" => &mut self.loss,
            "reorder" => &mut self.reorder,
            "duplicate" => &mut self.duplicate,
            "corrupt" => &mut self.corrupt,
            "ce" => &mut self.ce,
            "bleach" => &mut self.bleach,
            _ => return Err(wrong()),
        };
        *place = share;
        self.reorder_delay = late.unwrap_or(self.reorder_delay);
        Ok(())
    }
}

/// What went wrong so far, packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultCounts {
    /// Held back.
    pub reordered: u64,
    /// Sent a second time.
    pub duplicated: u64,
    /// With a wrong bit.
    pub corrupted: u64,
    /// On which CE was set, by this and not by a marker.
    pub ce: u64,
    /// That were ECN-capable and are not any more.
    pub bleached: u64,
}

/// A share, and its draws.
#[derive(Clone, Debug)]
struct FaultProbability {
    ppb: u64,
    rng: Rng,
}

impl FaultProbability {
    fn new(parts: Fraction, seed: u64, host: u32, purpose: &str) -> Self {
        let ppb = u64::try_from(parts.as_ppb()).unwrap_or(0);
        Self { ppb, rng: Seed::derive(seed, "host", u64::from(host), purpose).rng() }
    }

    fn draw(&mut self) -> bool {
        self.ppb > 0 && self.rng.chance(self.ppb)
    }
}

/// The faults of one host.
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

/// What becomes of a packet, beside what became of its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct FaultOutcome {
    /// It is held back for so long.
    pub(crate) delay: Option<Duration>,
    /// There is a second one.
    pub(crate) duplicate: bool,
}

impl FaultInjector {
    /// `None` where nothing goes wrong but what the line does.
    pub(crate) fn new(faults: &Faults, seed: u64, host: u32) -> Option<Box<Self>> {
        let share = |parts, purpose| FaultProbability::new(parts, seed, host, purpose);
        let faulty = Self {
            reorder_delay: faults.reorder_delay,
            reorder: share(faults.reorder, "fault-reorder"),
            duplicate: share(faults.duplicate, "fault-duplicate"),
            corrupt: share(faults.corrupt, "fault-corrupt"),
            ce: share(faults.ce, "fault-ce"),
            bleach: share(faults.bleach, "fault-bleach"),
            counts: FaultCounts::default(),
        };
        let Self { reorder, duplicate, corrupt, ce, bleach, .. } = &faulty;
        let any = [reorder, duplicate, corrupt, ce, bleach].into_iter().any(|s| s.ppb > 0);
        any.then(|| Box::new(faulty))
    }

    /// A packet with this codepoint passes; the codepoint that it has then.
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
        let late = self.reorder.draw().then_some(self.reorder_delay);
        let twice = self.duplicate.draw();
        self.counts.reordered += u64::from(late.is_some());
        self.counts.duplicated += u64::from(twice);
        (ecn, FaultOutcome { delay: late, duplicate: twice })
    }
}

/// Flips one bit where a checksum must notice it.
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

    fn faults(all: &[&str]) -> Faults {
        let mut faults = Faults::default();
        for text in all {
            faults.set(text).unwrap();
        }
        faults
    }

    #[test]
    fn faults_are_read_as_they_are_written() {
        let got = faults(&["loss=1%", "reorder=2%/3ms", "bleach=100 %"]);
        let want = Faults {
            loss: Fraction::from_percent(1),
            reorder: Fraction::from_percent(2),
            reorder_delay: Duration::from_ms(3),
            bleach: Fraction::from_percent(100),
            ..Faults::default()
        };
        assert_eq!(got, want);
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
    fn no_damaged_packet_passes_for_a_good_one() {
        for v6 in [false, true] {
            let mut faulty = FaultInjector::new(&faults(&["corrupt=100%"]), 3, 0).unwrap();
            for i in 0..20_000 {
                let mut packet = bytes(v6);
                faulty.apply(&mut packet, Ecn::Ect0);
                assert_ne!(packet, bytes(v6), "{i}");
                // A length that is shorter cuts the payload; what is left has a wrong sum.
                assert!(packet::parse(&packet).is_err(), "v6 {v6}: {i}");
            }
            assert_eq!(faulty.counts.corrupted, 20_000);
        }
    }

    #[test]
    fn shares_are_kept_and_counted_and_do_not_disturb_one_another() {
        let run = |all: &[&str]| {
            let mut faulty = FaultInjector::new(&faults(all), 7, 1).unwrap();
            let fates: Vec<FaultOutcome> =
                (0..100_000).map(|_| faulty.apply(&mut bytes(false), Ecn::Ect0).1).collect();
            (fates, faulty.counts)
        };
        let (alone, counts) = run(&["reorder=1%"]);
        assert!((850..1_150).contains(&counts.reordered), "{counts:?}");
        assert_eq!(counts.reordered, alone.iter().filter(|f| f.delay.is_some()).count() as u64);
        let (both, counts) = run(&["reorder=1%", "duplicate=10%", "ce=50%", "bleach=50%"]);
        assert!(both.iter().zip(&alone).all(|(a, b)| a.delay == b.delay));
        assert!((9_500..10_500).contains(&counts.duplicated), "{counts:?}");
        assert!((49_000..51_000).contains(&counts.bleached), "{counts:?}");
        assert!((24_000..26_000).contains(&counts.ce), "what was bleached has no CE: {counts:?}");
    }

    #[test]
    fn what_is_not_capable_is_not_marked() {
        let mut faulty = FaultInjector::new(&faults(&["ce=100%"]), 7, 1).unwrap();
        assert_eq!(faulty.apply(&mut bytes(false), Ecn::NotEct).0, Ecn::NotEct);
        assert_eq!(faulty.apply(&mut bytes(false), Ecn::Ce).0, Ecn::Ce);
        assert_eq!(faulty.counts.ce, 0);
    }
}
