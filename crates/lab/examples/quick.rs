//! Local.
use std::time::Duration;
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let runs: u32 = args.get(1).map_or(1, |n| n.parse().unwrap());
    let limits = lowtide_lab::ResourceLimits { memory: None, disk: None, resident: None };
    for b in lowtide_lab::bench::select(&args[..1]).unwrap() {
        let r =
            lowtide_lab::bench::measure(b, runs, 1, &|| Duration::ZERO, &|_| {}, &limits).unwrap();
        println!(
            "{{\"rows\":[{{\"hops\":{},\"runs\":{},\"digest\":\"{}\",\"cpu_s\":{},\"min\":{},\"mhops\":{}, \"bpf\": {:?}, \"bpp\": {:?}}}]}}",
            r.hops,
            r.runs,
            r.digest,
            r.cpu_s,
            r.cpu_s_range[0],
            r.hops_per_cpu_s / 1e6,
            r.bytes_per_flow.unwrap_or(0),
            r.bytes_per_port.unwrap_or(0)
        );
    }
}
