//! A port with Poisson arrivals and packets of one size is an M/D/1 queue. The mean number waiting
//! is rho^2 / (2 (1 - rho)) (Pollaczek-Khinchine), in time average and, because Poisson arrivals
//! see time averages (PASTA), for the packets too.

use lowtide_net::topology::star::{Star, star};
use lowtide_net::{Framing, Network, Packet, PortSpec};
use lowtide_rows::Level;
use lowtide_sim::{Rng, Seed};
use lowtide_units::{Duration, Instant};

use crate::rig::{Rig, host, packet};

const PACKETS: u32 = 40_000;
const SEEDS: u64 = 25;
/// 1000 B at 8 Gbit/s.
const SERVICE_PS: f64 = 1e6;

fn poisson(rng: &mut Rng, rho: f64) -> Vec<(Instant, Packet)> {
    let mut at = 0.0;
    let send = |i| {
        let uniform = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        at -= (1.0 - uniform).ln() * SERVICE_PS / rho;
        (Instant::from_ps(at as u64), packet(0, 1, 1_000, i))
    };
    (0..PACKETS).map(send).collect()
}

fn mean(levels: &[Level], weight: impl Fn(&Level) -> f64) -> f64 {
    let sum: f64 = levels.iter().map(&weight).sum();
    levels.iter().map(|l| f64::from(l.packets) * weight(l)).sum::<f64>() / sum
}

#[test]
fn mean_queue_is_pollaczek_khinchine() {
    let hosts = vec![host("a", 8, Duration::ZERO), host("b", 8_000, Duration::ZERO)];
    let plan = star(&Star { hosts, framing: Framing::Ip, port: PortSpec::NIC });
    for rho in [0.5, 0.8] {
        let want = rho * rho / (2.0 * (1.0 - rho));
        let mut samples = [Vec::new(), Vec::new(), Vec::new()];
        for seed in 0..SEEDS {
            let mut rng = Seed::derive(seed, "test", 0, "md1").rng();
            let sends = poisson(&mut rng, rho);
            let end = sends[sends.len() - 1].0;
            let warmup = Duration::from_us(1_000);
            let net = Network::build(&plan, 0, Duration::ZERO, warmup).unwrap();
            let stats = Rig::run(net, &sends, end).stats(0);
            samples[0].push(mean(&stats.levels, |l| l.time_ps as f64));
            samples[1].push(mean(&stats.levels, |l| l.arrivals as f64));
            let observed = (end.as_ps() - warmup.as_ps()) as f64;
            samples[2].push(stats.busy_ps as f64 / observed * want / rho);
        }
        for (sample, what) in samples.iter().zip(["clock", "arrivals", "load"]) {
            let n = sample.len() as f64;
            let mean = sample.iter().sum::<f64>() / n;
            let var = sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
            let error = (var / n).sqrt();
            assert!(error < 0.02 * want, "{what}: the standard error is too large, {error}");
            let off = (mean - want).abs() / error;
            assert!(off < 4.0, "rho {rho}, {what}: {mean}, want {want}, {off} standard errors");
        }
    }
}
