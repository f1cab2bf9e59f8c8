//! Qdiscs of the kernel in place of the simulator's markers: arguments of the command `tc`.

use lowtide_lab::UnsupportedSetup;
use lowtide_net::{BufferSpec, LineSpec};
use lowtide_units::QueueLength;

use super::shaper::HEADER;
use crate::plan::refusal;

/// Values that the kernel's qdiscs have, whatever the scenario asks for: marker, key, value.
const FIXED: [(&str, &str, &str); 6] = [
    ("red", "gentle", "false"),
    // These drop chosen packets that they cannot mark.
    ("codel", "not-ect", "drop"),
    ("pie", "not-ect", "drop"),
    ("pie", "burst", "150 ms"),
    ("pie", "mark-limit", "10 %"),
    ("pie", "derandomise", "true"),
];
/// The gains of `tc` for pie are sixteenths.
const PIE_GAIN: f64 = 16.0;
/// The largest of them.
const PIE_GAIN_MAX: f64 = 32.0;
/// Longest burst that `tc` is asked for.
const LONGEST_BURST: i32 = 100_000;

/// Returns the qdisc of a line's queue, of packets of up to `mtu` bytes; `fair`: codel with a queue
/// for each flow. Lengths are converted between packets and bytes as those of full packets.
pub(super) fn qdisc(
    line: &LineSpec,
    mtu: u16,
    fair: bool,
) -> Result<Vec<String>, UnsupportedSetup> {
    let (port, mtu) = (&line.port, u64::from(mtu));
    let (name, values) = (port.mark.name(), port.mark.values());
    let frames = |length: QueueLength| match length {
        QueueLength::Packets(n) => n * (mtu + HEADER),
        QueueLength::Bytes(n) => n.as_u64() + n.as_u64().div_ceil(mtu) * HEADER,
    };
    let BufferSpec::Static(buffer) = port.buffer else {
        let message = "the kernel's qdiscs have static buffers".to_owned();
        return Err(refusal(message, "choose a `switch.buffer`, or `--bottleneck user`"));
    };
    let packets = match buffer {
        QueueLength::Packets(n) => n,
        QueueLength::Bytes(n) => n.as_u64() / mtu,
    };
    if port.count_in_service {
        let message = "the kernel's qdiscs do not count the packet on the line".to_owned();
        return Err(refusal(message, "`switch.count-in-service = false`, or `--bottleneck user`"));
    }
    for (_, key, fixed) in FIXED.iter().filter(|(marker, ..)| *marker == name) {
        if let Some(value) = values.get(key).map(ToString::to_string).filter(|v| v != fixed) {
            let message = format!("the kernel's `{name}` has no `{key} = {value}`");
            let help = format!("`-s switch.mark.{key}='\"{fixed}\"'`, or `--bottleneck user`");
            return Err(refusal(message, &help));
        }
    }
    let marks = values.get("signal").is_some() && values.name("signal") == "mark";
    let us = |key: &str| format!("{}us", values.duration(key).as_ns() / 1000);
    let words = match name {
        "red" => {
            let (min, mean) = (frames(values.length("min")), values.bytes("mean-packet").as_u64());
            let weight = values.count("weight") as i32;
            let Some(burst) = burst(min as f64 / mean as f64, weight) else {
                let message = format!("`tc` has no burst for `weight = {weight}` of `red`");
                return Err(refusal(message, "`weight = 1` or above, or `--bottleneck user`"));
            };
            let (limit, max) = (frames(buffer), frames(values.length("max")));
            let probability = values.fraction("max-p").as_ppb() as f64 / 1e9;
            let keep = marks && values.name("not-ect") == "ignore";
            let signal = if keep { "ecn nodrop" } else { ["", "ecn"][usize::from(marks)] };
            format!(
                "red limit {limit} min {min} max {max} avpkt {mean} burst {burst} bandwidth {}bit \
                 probability {probability} {signal}",
                line.rate.as_bps()
            )
        }
        "codel" => {
            let (qdisc, signal) = (["codel", "fq_codel"][usize::from(fair)], ["noecn", "ecn"]);
            let (target, interval) = (us("target"), us("interval"));
            let signal = signal[usize::from(marks)];
            format!("{qdisc} limit {packets} target {target} interval {interval} {signal}")
        }
        "pie" => {
            let [alpha, beta] = ["alpha", "beta"].map(|key| {
                let gain = values.ratio(key);
                f64::from(gain.num) / f64::from(gain.den.get()) * PIE_GAIN
            });
            if [alpha, beta].iter().any(|gain| gain.fract() != 0.0 || *gain > PIE_GAIN_MAX) {
                let message = "the kernel's `pie` has gains of n/16, at most 2".to_owned();
                return Err(refusal(
                    message,
                    "`switch.mark.alpha` and `beta`; or `--bottleneck user`",
                ));
            }
            let (target, period, signal) = (us("target"), us("period"), ["noecn", "ecn"]);
            let signal = signal[usize::from(marks)];
            format!(
                "pie limit {packets} target {target} tupdate {period} alpha {alpha} beta {beta} \
                 {signal}"
            )
        }
        _ if port.mark == lowtide_net::aqm::MarkSpec::NONE => match buffer {
            QueueLength::Packets(n) => format!("pfifo limit {n}"),
            QueueLength::Bytes(_) => format!("bfifo limit {}", frames(buffer)),
        },
        other => {
            let message = format!("the kernel's bottleneck has no marker `{other}`");
            let help = "`step`, `red`, `codel` or `pie` at all ports; or `--bottleneck user`";
            return Err(refusal(message, help));
        }
    };
    Ok(words.split_whitespace().map(str::to_owned).collect())
}

/// Returns the burst for which `tc` chooses the gain 2^-`weight` (`tc-red(8)`): that of the least w
/// for which burst + 1 - min is at most (1 - (1 - 2^-w)^burst) 2^w, with `min` in packets.
fn burst(min: f64, weight: i32) -> Option<i32> {
    let beyond = |burst: i32| f64::from(burst) + 1.0 - min;
    let fits = |burst: i32, w: i32| {
        beyond(burst) <= (1.0 - (1.0 - 0.5_f64.powi(w)).powi(burst)) * 2_f64.powi(w)
    };
    let chosen = |burst: i32| (1..32).find(|&w| fits(burst, w));
    (1..LONGEST_BURST).find(|&b| beyond(b) >= 1.0 && chosen(b) == Some(weight))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The judge is `tc` of iproute2 6.1.0: the weights in the messages that it sent for these.
    #[test]
    fn tc_chooses_the_weight_of_the_burst() {
        for (weight, given) in [(1, 20), (2, 21), (3, 23), (5, 34), (7, 57), (9, 106)] {
            assert_eq!(burst(20.0, weight), Some(given));
        }
        for (weight, given) in [(1, 6), (2, 7), (3, 8), (5, 14), (7, 25), (9, 48)] {
            assert_eq!(burst(7570.0 / 1500.0, weight), Some(given));
        }
        assert_eq!(burst(20.0, 0), None);
    }
}
