//! Statistics of sockets in the Prometheus text format.

use std::fmt::Write as _;

use lowtide_output::prometheus::label;

use crate::view::SocketView;

/// Name, type, description and value of a metric.
type Metric = (&'static str, &'static str, &'static str, fn(&SocketView) -> f64);

/// Returns metrics of these sockets in the Prometheus text format.
pub fn prometheus(sockets: &[SocketView]) -> String {
    let mut out = String::new();
    let metrics: [Metric; 7] = [
        ("alpha", "gauge", "DCTCP's estimate of the marked share, 0 to 1.", |s| s.alpha),
        ("cwnd_bytes", "gauge", "Congestion window.", |s| f64::from(s.cwnd)),
        ("cuts_total", "counter", "Window cuts because of ECN.", |s| f64::from(s.cuts)),
        ("ece_acks_total", "counter", "ACKs with ECE.", |s| f64::from(s.marked_acks)),
        ("leaps_total", "counter", "Windows of the kernel that were replaced.", |s| {
            f64::from(s.leaps)
        }),
        ("srtt_seconds", "gauge", "Smoothed round-trip time.", |s| f64::from(s.srtt_us) / 1e6),
        ("ssthresh_bytes", "gauge", "Slow-start threshold; +Inf before the first reaction.", |s| {
            s.ssthresh.map_or(f64::INFINITY, f64::from)
        }),
    ];
    for (name, kind, help, value) in metrics {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "# HELP lowtide_tcp_{name} {help}\n# TYPE lowtide_tcp_{name} {kind}");
        for socket in sockets.iter().filter(|socket| socket.state != "listen") {
            let value = value(socket);
            let value = if value == f64::INFINITY { "+Inf".to_owned() } else { value.to_string() };
            let _ = writeln!(
                out,
                "lowtide_tcp_{name}{{control={},netns={},local={},remote={}}} {value}",
                label(&socket.control),
                label(&socket.netns.to_string()),
                label(&socket.local.to_string()),
                label(&socket.remote.to_string())
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn socket() -> SocketView {
        SocketView {
            netns: 4_026_531_840,
            control: "lt_dctcp".to_owned(),
            state: "established",
            local: "10.0.0.1:40000".parse().unwrap(),
            remote: "10.0.0.2:80".parse().unwrap(),
            snd_cwnd: 12,
            cwnd: 12_000,
            ssthresh: None,
            alpha: 0.5,
            cuts: 7,
            marked_acks: 90,
            leaps: 0,
            srtt_us: 250,
        }
    }

    #[test]
    fn metrics_have_one_line_a_socket() {
        let listener = SocketView { state: "listen", ..socket() };
        let text = prometheus(&[socket(), listener]);
        let line = "lowtide_tcp_alpha{control=\"lt_dctcp\",netns=\"4026531840\",\
                    local=\"10.0.0.1:40000\",remote=\"10.0.0.2:80\"} 0.5";
        assert_eq!(text.lines().filter(|l| *l == line).count(), 1, "{text}");
        assert!(text.contains("lowtide_tcp_ssthresh_bytes{") && text.contains("} +Inf"), "{text}");
        assert_eq!(text.lines().filter(|l| l.starts_with("# TYPE")).count(), 7);
    }

    /// Collectors refuse a sample without its type, and two samples of one series.
    #[test]
    fn each_series_has_a_type_and_one_sample() {
        // Containers often have the same addresses in several namespaces.
        let elsewhere = SocketView { netns: 4_026_532_001, ..socket() };
        let six = SocketView { local: "[::1]:7".parse().unwrap(), ..socket() };
        let text = prometheus(&[socket(), elsewhere, six]);
        let mut series = BTreeSet::new();
        let mut family = "";
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert!(["gauge", "counter"].contains(&kind), "{line}");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                family = name;
            } else if !line.starts_with("# HELP ") {
                let (name, value) = line.rsplit_once(' ').unwrap();
                assert_eq!(name.split('{').next(), Some(family), "{line}");
                assert!(value.parse::<f64>().is_ok(), "{line}");
                assert!(series.insert(name), "{line}");
            }
        }
        assert_eq!(series.len(), 7 * 3);
        assert!(text.ends_with('\n'));
    }
}
