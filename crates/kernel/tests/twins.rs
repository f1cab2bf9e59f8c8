//! Each BPF control, compiled for this machine without a kernel, and the Rust twin get the same
//! random events: windows, ssthresh and alpha must agree bit for bit.

mod driver;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use lowtide_schema::Values;
use lowtide_sim::{Rng, Seed};
use lowtide_tcp::cc::{
    self, AckSample, CcSetup, CongestionControl, CongestionEvent, Reaction, WindowRules,
};
use lowtide_units::{Duration, Instant, Probe, Unit};

/// One control in C and its Rust twin.
struct Twin {
    source: &'static str,
    /// Prefix of its callbacks.
    prefix: &'static str,
    control: &'static str,
    /// Minimum window after a reaction, segments.
    floor: u32,
}

impl Twin {
    fn has_alpha(&self) -> bool {
        self.control != "newreno"
    }
}

const TWINS: [Twin; 5] = [
    Twin { source: "lt_dctcp.bpf.c", prefix: "dctcp", control: "dctcp", floor: 2 },
    Twin { source: "lt_odctcp_snd.bpf.c", prefix: "odctcp_snd", control: "dctcp", floor: 2 },
    Twin { source: "lt_odctcp_rcv.bpf.c", prefix: "odctcp_rcv", control: "newreno", floor: 2 },
    Twin { source: "lt_odctcp.bpf.c", prefix: "odctcp", control: "dctcp", floor: 1 },
    Twin { source: "lt_tdctcp.bpf.c", prefix: "tdctcp", control: "tdctcp", floor: 1 },
];

/// Values of `icsk_ca_state`.
const OPEN: u32 = 0;
const RECOVERY: u32 = 3;
const LOSS: u32 = 4;

/// Compiles the driver for one control and one test; returns the program.
fn compile(twin: &Twin, test: &str) -> PathBuf {
    let control = [format!("-DTWIN=\"{}\"", twin.source), format!("-DTWIN_PREFIX={}", twin.prefix)];
    driver::compile(&format!("{test}_{}", twin.prefix), "host/drive.c", &control)
}

/// State after an event: cwnd and ssthresh in bytes, alpha in 2^-20, snd_cwnd in segments, CWR due.
type State = (u64, u64, u64, u64, bool);

/// The kernel's side of a connection, as far as the control sees it, and the Rust control on it.
struct Kernel<'a> {
    twin: &'a Twin,
    control: Box<dyn CongestionControl>,
    rng: Rng,
    mss: u32,
    /// SND.UNA and SND.NXT as payload offsets; the driver sees their low 32 bits plus `isn`.
    una: u64,
    nxt: u64,
    isn: u32,
    ca_state: u32,
    cut_end: Option<u64>,
    last_ece: bool,
    /// AccECN, not classic ECN.
    accecn: bool,
    cuts: usize,
    script: String,
    expected: Vec<State>,
}

#[derive(Default)]
struct Alpha(u64);

impl Probe for Alpha {
    fn value(&mut self, name: &str, _: Unit, value: u64) {
        if name == "alpha" {
            self.0 = value;
        }
    }
}

impl<'a> Kernel<'a> {
    fn new(twin: &'a Twin, seed: u64) -> Self {
        let mut rng = Seed::derive(seed, "twins", 0, twin.prefix).rng();
        let mss = [536, 1000, 1448, 8948][rng.below(4) as usize];
        let initial = [1, 2, 10][rng.below(3) as usize];
        let isn = rng.next_u64() as u32;
        let (shift_g, alpha) = (rng.below(11), rng.below(1025));
        let idle_resets = rng.below(2) == 1;
        let mut params = Vec::new();
        if twin.has_alpha() {
            params.push(("shift-g", shift_g.to_string()));
            params.push(("initial-alpha", alpha.to_string()));
        }
        if twin.control == "dctcp" {
            let after = if idle_resets { "reset" } else { "keep" };
            params.push(("after-idle", after.to_owned()));
        }
        let idle_resets = u8::from(idle_resets && twin.control == "dctcp");
        let setup = CcSetup {
            mss,
            initial_window: u64::from(initial * mss),
            floor: u64::from(twin.floor * mss),
            ssthresh_floor: u64::from(twin.floor * mss),
            abc_limit: u64::MAX,
            ecn: true,
            now: Instant::ZERO,
            seed: 0,
            rtt: None,
            rules: WindowRules::RFC,
        };
        let entry = cc::REGISTRY.find(twin.control).expect("registered");
        let given: Vec<(&str, &str)> = params.iter().map(|(n, v)| (*n, v.as_str())).collect();
        let values = Values::parse(entry.params, &given).expect("in range");
        let control = (entry.build)(&values, &setup);
        let script =
            format!("init {mss} {initial} {isn} {shift_g} {alpha} {idle_resets} {}\n", twin.floor);
        let mut kernel = Self {
            twin,
            control,
            rng,
            mss,
            una: 0,
            nxt: 0,
            isn,
            ca_state: OPEN,
            cut_end: None,
            last_ece: false,
            accecn: seed % 2 == 1,
            cuts: 0,
            script,
            expected: Vec::new(),
        };
        kernel.expect(false, Some(u64::from(initial)));
        if kernel.accecn {
            kernel.script.push_str("accecn\n");
            kernel.expect(false, Some(u64::from(initial)));
        }
        kernel
    }

    fn seq(&self, offset: u64) -> u32 {
        self.isn.wrapping_add(offset as u32)
    }

    /// Records the state of the Rust control; `snd_cwnd` is computed unless it is given.
    fn expect(&mut self, cwr: bool, snd_cwnd: Option<u64>) {
        let mut alpha = Alpha::default();
        self.control.probe(&mut alpha);
        let ssthresh = self.control.ssthresh().min(u64::from(u32::MAX));
        let cwnd = self.control.cwnd();
        let segments = snd_cwnd.unwrap_or((cwnd / u64::from(self.mss)).max(1));
        self.expected.push((cwnd, ssthresh, alpha.0, segments, cwr));
    }

    fn event(&mut self, event: &CongestionEvent) {
        self.control.on_event(event);
    }

    /// The kernel changes its state; it writes `snd_cwnd` on the next ACK.
    fn change_state(&mut self, state: u32) {
        let now = Instant::ZERO;
        let in_flight = self.nxt - self.una;
        match (self.ca_state, state) {
            (LOSS, LOSS) => self.event(&CongestionEvent::Rto {
                now,
                first: false,
                in_recovery: false,
                in_flight,
            }),
            (_, LOSS) => self.event(&CongestionEvent::Rto {
                now,
                first: true,
                in_recovery: false,
                in_flight,
            }),
            (OPEN, RECOVERY) => {
                let already_reduced = self.cut_end.is_some_and(|end| self.una < end);
                self.event(&CongestionEvent::Loss { now, in_flight, already_reduced });
            }
            (RECOVERY, OPEN) => self.event(&CongestionEvent::Recovered { now, in_flight }),
            _ => {}
        }
        self.ca_state = state;
        let (una, nxt) = (self.seq(self.una), self.seq(self.nxt));
        let _ = writeln!(self.script, "state {state} {una} {nxt}");
        let before = self.expected.last().map(|s| s.3);
        self.expect(false, before);
    }

    fn ack(&mut self) {
        let window = self.control.cwnd();
        let in_flight = self.nxt - self.una;
        if in_flight < window {
            self.nxt += self.rng.below(window - in_flight + 1);
        }
        let acked = self.rng.below((self.nxt - self.una).min(64 * u64::from(self.mss)) + 1);
        self.una += acked;
        let (ece, limited) = (self.rng.below(4) == 0, self.rng.below(4) > 0);
        let rtt_us = [50, 20_000][self.rng.below(2) as usize];
        let mut ack = AckSample::default();
        (ack.snd_una, ack.snd_nxt) = (self.una, self.nxt);
        (ack.acked_bytes, ack.delivered_bytes) = (acked, acked);
        ack.ece = ece;
        let ce = if self.accecn && ece { 1 + self.rng.below(8) } else { u64::from(ece) };
        ack.ce_bytes = match (ece, self.accecn) {
            (false, _) => 0,
            (true, false) => acked,
            (true, true) => acked.min(ce * u64::from(self.mss)),
        };
        ack.may_reduce = self.cut_end.is_none_or(|end| self.una > end);
        // The scheme of classic ECN sets `freeze-growth = ece-acks`.
        let frozen = self.twin.control == "newreno" && ece;
        ack.may_grow = limited && self.ca_state != RECOVERY && !frozen;
        ack.after_rto = self.ca_state == LOSS;
        // `rtt_min` is zero in the driver.
        ack.delack_suspected = acked > 0
            && acked < 2 * u64::from(self.mss)
            && ece == self.last_ece
            && self.una == self.nxt
            && rtt_us >= 10_000;
        if ack.may_reduce {
            self.cut_end = None;
        }
        self.last_ece = ece;
        let cut = self.control.on_ack(&ack) == Reaction::Reduced;
        if cut {
            self.cut_end = Some(self.nxt);
            self.cuts += 1;
        }
        let (una, nxt, state) = (self.seq(self.una), self.seq(self.nxt), self.ca_state);
        let limited = u8::from(limited);
        let _ = writeln!(self.script, "ack {state} {una} {nxt} {ce} {limited} {rtt_us}");
        // With AccECN the bit of CWR is part of the counter.
        self.expect(cut && !self.accecn, None);
    }

    fn step(&mut self) {
        match (self.rng.below(40), self.ca_state) {
            (0, OPEN) => self.change_state(RECOVERY),
            (1, _) => self.change_state(LOSS),
            (2..=8, RECOVERY | LOSS) => self.change_state(OPEN),
            (9, _) => {
                let (now, idle) = (Instant::ZERO, Duration::from_secs(4));
                self.event(&CongestionEvent::IdleRestart { now, idle, halvings: None });
                // Older kernels report an event, newer ones call an operation.
                let new = self.rng.below(2) == 0;
                self.script.push_str(if new { "tx_start\n" } else { "idle\n" });
                self.expect(false, None);
            }
            (10, _) => {
                self.event(&CongestionEvent::Undo { now: Instant::ZERO });
                let _ = writeln!(self.script, "undo");
                self.expect(false, None);
            }
            _ => self.ack(),
        }
    }
}

fn drive(program: &Path, script: &str) -> Vec<State> {
    let text = driver::answers(program, script);
    let state = |line: &str| {
        let n: Vec<u64> = line.split(' ').map(|n| n.parse().expect("a number")).collect();
        (n[0], n[1], n[2], n[3], n[4] == 1)
    };
    text.lines().map(state).collect()
}

#[test]
fn the_controls_for_kernels_and_their_rust_twins_agree_bit_for_bit() {
    for twin in &TWINS {
        let program = compile(twin, "drive");
        let (mut cuts, mut steps) = (0, 0);
        for seed in 0..200 {
            let mut kernel = Kernel::new(twin, seed);
            for _ in 0..500 {
                kernel.step();
            }
            let seen = drive(&program, &kernel.script);
            assert_eq!(seen.len(), kernel.expected.len());
            let lines: Vec<&str> = kernel.script.lines().collect();
            for (i, (seen, expected)) in seen.iter().zip(&kernel.expected).enumerate() {
                let around = lines[i.saturating_sub(3)..=i].join("; ");
                // NewReno has no alpha; the receiving half's shows the marks of what it sends.
                let alpha = if twin.has_alpha() { expected.2 } else { seen.2 };
                let expected = &(expected.0, expected.1, alpha, expected.3, expected.4);
                assert_eq!(seen, expected, "{}, seed {seed}, line {i}: {around}", twin.prefix);
            }
            cuts += kernel.cuts;
            steps += seen.len();
        }
        assert!(cuts > steps / 100, "{}: only {cuts} cuts in {steps} events", twin.prefix);
    }
}

/// A socket that changes to a control in mid-connection keeps its window and ssthresh. After an
/// idle time it restarts with ten segments (Linux's initial window), not with the window of the
/// change.
#[test]
fn a_control_that_is_chosen_in_mid_connection_restarts_with_the_initial_window() {
    for twin in &TWINS {
        let program = compile(twin, "switch");
        for (cwnd, restart) in [(120, 10), (4, 4)] {
            let script = format!("init 1000 {cwnd} 7 4 1024 0 2\nswitch {cwnd} 60\ntx_start\n");
            let seen = drive(&program, &script);
            assert_eq!((seen[1].0, seen[1].1), (cwnd * 1000, 60_000), "{}", twin.prefix);
            assert_eq!((seen[2].0, seen[2].3), (restart * 1000, restart), "{}", twin.prefix);
        }
    }
}
