//! FreeBSD's cc(9) module, compiled for this machine and called in the order of FreeBSD's stack
//! (`kernel/freebsd/drive.c`). Alpha must be that of the Rust control bit for bit; the reactions
//! are checked by the formulas of the RFCs.

mod driver;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use lowtide_schema::Values;
use lowtide_sim::{Rng, Seed};
use lowtide_tcp::cc::{self, AckSample, CcSetup, CongestionControl, CongestionEvent, WindowRules};
use lowtide_tcp::feedback::{self, AckView, FeedbackDecoder};
use lowtide_units::{Duration, Instant, Probe, Unit};

/// Payload of a segment; 12 more bytes are the timestamp option, which `t_maxseg` includes.
const MSS: u64 = 1000;
const SSTHRESH: u64 = 65_535 << 14;

fn compile(test: &str) -> PathBuf {
    driver::compile(&format!("freebsd_{test}"), "freebsd/drive.c", &[])
}

/// State after a line of the script, as the driver prints it.
#[derive(Clone, Copy, Default, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a TCP connection")]
struct State {
    una: u32,
    max: u32,
    cwnd: u64,
    ssthresh: u64,
    alpha: u64,
    fast: bool,
    reduced: bool,
    cwr: bool,
    ece: bool,
    ack_now: bool,
    /// Bytes and `snd_max` of the call for new data.
    counted: u64,
    counted_max: u32,
}

impl State {
    fn read(line: &str) -> Self {
        let n: Vec<u64> = line.split(' ').map(|n| n.parse().expect("a number")).collect();
        let (seq, set) = (|n: u64| u32::try_from(n).expect("32 bits"), |n: u64| n == 1);
        Self {
            una: seq(n[0]),
            max: seq(n[2]),
            cwnd: n[3],
            ssthresh: n[4],
            alpha: n[5],
            fast: set(n[6]),
            reduced: set(n[7]),
            cwr: set(n[8]),
            ece: set(n[9]),
            ack_now: set(n[10]),
            counted: n[11],
            counted_max: seq(n[12]),
        }
    }

    fn flight(&self) -> u64 {
        u64::from(self.max.wrapping_sub(self.una))
    }
}

/// Runs a script; returns the lines that print a state, each with its state.
fn drive<'a>(program: &Path, script: &'a str) -> Vec<(&'a str, State)> {
    let text = driver::answers(program, script);
    assert_eq!(text.lines().count(), script.lines().count());
    let states = script.lines().zip(text.lines()).filter(|(line, _)| !line.starts_with("set "));
    states.map(|(line, state)| (line, State::read(state))).collect()
}

/// A script of random events.
fn random_script(rng: &mut Rng, shift_g: u64, alpha: u64) -> String {
    let sack = rng.below(3) > 0;
    let mut script = format!("set shift_g {shift_g}\nset alpha {alpha}\n");
    let (window, isn) = ([20_000, 65_535, 1_000_000][rng.below(3) as usize], rng.next_u64() as u32);
    let initial = [2, 4, 10, 40][rng.below(4) as usize];
    let _ = writeln!(script, "init {} {initial} {isn} {window} {} 6", MSS + 12, u8::from(sack));
    if rng.below(4) > 0 {
        script.push_str("app 100000000\n");
    }
    let mut ece = 0;
    for _ in 0..400 {
        if rng.below(5) == 0 {
            ece = rng.below(2);
        }
        let bytes = [1, 1000, 1500, 2000, 3000, 10_000][rng.below(6) as usize];
        let line = match rng.below(40) {
            0..=25 => format!("ack {bytes} {ece} 0 0"),
            26..=28 => vec![format!("dup {} {ece}", if sack { MSS } else { 0 }); 4].join("\n"),
            29 => format!("ack {bytes} {ece} {bytes} 0"),
            30 => format!("old {ece}"),
            31 => format!("rto {}", [0, 0, 0, 548][rng.below(4) as usize]),
            32 => format!("ack {bytes} {ece} 0 1"),
            33 => format!("ack 1000000000 {ece} 0 0\nidle"),
            _ => format!("app {bytes}"),
        };
        script.push_str(&line);
        script.push('\n');
    }
    script
}

fn rust_control(shift_g: u64, alpha: u64) -> Box<dyn CongestionControl> {
    let entry = cc::REGISTRY.find("dctcp").expect("registered");
    let (shift_g, alpha) = (shift_g.to_string(), alpha.to_string());
    let given = [("shift-g", &*shift_g), ("initial-alpha", &*alpha), ("after-idle", "reset")];
    let setup = CcSetup {
        mss: MSS as u32,
        initial_window: 10 * MSS,
        floor: 2 * MSS,
        ssthresh_floor: 2 * MSS,
        abc_limit: 2,
        ecn: true,
        now: Instant::ZERO,
        seed: 0,
        rtt: None,
        rules: WindowRules::RFC,
    };
    (entry.build)(&Values::parse(entry.params, &given).expect("in range"), &setup)
}

fn alpha_of(control: &dyn CongestionControl) -> u64 {
    struct Alpha(u64);
    impl Probe for Alpha {
        fn value(&mut self, name: &str, _: Unit, value: u64) {
            if name == "alpha" {
                self.0 = value;
            }
        }
    }
    let mut alpha = Alpha(0);
    control.probe(&mut alpha);
    alpha.0
}

/// The Rust decoder for FreeBSD's receiver, or for the latch of a standard one.
fn rust_decoder(one_sided: bool) -> Box<dyn FeedbackDecoder> {
    let name = if one_sided { "one-sided" } else { "freebsd" };
    let entry = feedback::REGISTRY.find(name).expect("registered");
    (entry.build)(&Values::parse(entry.params, &[]).expect("defaults"))
}

/// The Rust side of a connection.
struct Mirror {
    control: Box<dyn CongestionControl>,
    decoder: Box<dyn FeedbackDecoder>,
    isn: u32,
    mss: u64,
}

impl Mirror {
    /// Tells the Rust control what the module's callbacks got in this line.
    fn follow(&mut self, line: &str, before: &State, seen: &State) {
        let (control, isn) = (&mut self.control, self.isn);
        let now = Instant::ZERO;
        let words: Vec<&str> = line.split(' ').collect();
        let offset = |seq: u32| u64::from(seq.wrapping_sub(isn));
        match words[0] {
            "rto" if before.flight() > 0 => control.on_event(&CongestionEvent::Rto {
                now,
                first: true,
                in_recovery: false,
                in_flight: before.flight(),
            }),
            "idle" if before.flight() == 0 => {
                let idle = Duration::from_secs(4);
                control.on_event(&CongestionEvent::IdleRestart { now, idle, halvings: None });
            }
            _ if seen.counted > 0 => {
                let ece = words[2] == "1";
                let mut ack = AckSample::default();
                (ack.snd_una, ack.snd_nxt) = (offset(seen.una), offset(seen.counted_max));
                (ack.acked_bytes, ack.delivered_bytes) = (seen.counted, seen.counted);
                let decoded = self.decoder.on_ack(&AckView {
                    ece,
                    delivered_bytes: seen.counted,
                    acked_bytes: seen.counted,
                    mss: self.mss as u32,
                    ..AckView::default()
                });
                (ack.ece, ack.ce_bytes) = (ece, decoded.ce_bytes);
                let _ = control.on_ack(&ack);
            }
            _ => {}
        }
    }
}

#[test]
fn alpha_is_that_of_the_rust_control_and_each_reaction_follows_its_formula() {
    let program = compile("random");
    let (mut cuts, mut losses, mut timeouts, mut left) = (0, 0, 0, 0);
    for seed in 0..200 {
        let mut rng = Seed::derive(seed, "freebsd", 0, "module").rng();
        let (shift_g, alpha) = (rng.below(11), rng.below(1025));
        let one_sided = seed % 4 == 0;
        let script = random_script(&mut rng, shift_g, alpha);
        let script = format!("set one_sided {}\n{script}", u8::from(one_sided));
        let states = drive(&program, &script);
        let mut before = states[0].1;
        let control = rust_control(shift_g, alpha);
        let decoder = rust_decoder(one_sided);
        let mut rust = Mirror { control, decoder, isn: before.una, mss: MSS };
        let mut timeouts_in_a_row = 0;
        for (i, &(line, seen)) in states.iter().enumerate().skip(1) {
            let place = format!("seed {seed}, line {i}: {line}");
            rust.follow(line, &before, &seen);
            assert_eq!(seen.alpha, alpha_of(&*rust.control), "{place}");
            if line.starts_with("rto") && before.flight() > 0 {
                // Black-hole detection lowers the segment before the signal.
                rust.mss = if line == "rto 548" { 536 } else { rust.mss };
                let half = (before.flight() / 2).max(2 * rust.mss);
                let first = timeouts_in_a_row == 0;
                assert_eq!(seen.ssthresh, if first { half } else { before.ssthresh }, "{place}");
                assert!(seen.cwnd == rust.mss && !seen.fast && !seen.reduced, "{place}: {seen:?}");
                timeouts_in_a_row += 1;
                timeouts += 1;
            } else if line.starts_with("ack") && seen.counted > 0 {
                timeouts_in_a_row = 0;
            }
            let marked = line.split(' ').nth(2) == Some("1");
            if seen.fast && !before.fast && !before.reduced && !marked && line.starts_with("dup") {
                let half = before.flight().min(before.cwnd) / 2;
                assert_eq!(seen.ssthresh, half.max(2 * rust.mss), "{place}");
                losses += 1;
            }
            if marked && seen.reduced && !before.reduced && !seen.fast && line.ends_with("1 0 0") {
                let cut = before.cwnd - ((before.cwnd * before.alpha) >> 21);
                assert_eq!(seen.ssthresh, cut.max(2 * rust.mss), "{place}");
                cuts += 1;
            }
            left += usize::from(before.fast && !seen.fast && line.starts_with("ack"));
            before = seen;
        }
    }
    let counts = [cuts, losses, timeouts, left];
    assert!(counts.iter().all(|&n| n > 300), "too few events of a kind: {counts:?}");
}

/// An undo restores what the stack saved, and the module adds nothing.
#[test]
fn a_spurious_timeout_is_undone_also_if_its_ack_has_ece() {
    let program = compile("undo");
    for ece in [0, 1] {
        let script = format!("init 1012 10 1 65535 1 4\napp 60000\nrto 0\nack 1000 {ece} 0 1\n");
        let states = drive(&program, &script);
        let (sent, timeout, undone) = (states[1].1, states[2].1, states[3].1);
        assert_eq!((timeout.cwnd, timeout.ssthresh), (MSS, 5 * MSS));
        assert_eq!((sent.ssthresh, undone.ssthresh), (SSTHRESH, SSTHRESH));
        assert!(undone.cwnd >= sent.cwnd, "ECE {ece}: {undone:?}");
    }
}

/// A standard receiver latches ECE; CWR must go out once in a window, not on each ACK.
#[test]
fn latched_ece_causes_one_cut_and_one_cwr_in_a_window() {
    let script =
        String::from("init 1012 20 1 65535 1 4\napp 100000\n") + &"ack 1000 1 0 0\n".repeat(19);
    let states = drive(&compile("latched"), &script);
    assert_eq!(states.iter().filter(|(_, s)| s.cwr).count(), 1);
    assert!(states[2..].iter().all(|(_, s)| s.ssthresh == 10 * MSS && s.reduced));
    // The default g is 1/16; the first window was marked.
    assert_eq!(states[20].1.alpha, 1 << 20);
}

/// Whether ECE is due and an ACK at once, for segments given as ECN field and CWR.
#[test]
fn the_receiver_echoes_ce_by_its_state_and_one_sided_delays_the_ack_of_cwr() {
    let program = compile("receiver");
    let segments = "data 1 0\ndata 3 0\ndata 3 0\ndata 3 1\ndata 1 1\ndata 1 0\n";
    for one_sided in [false, true] {
        let script = format!("set one_sided {}\ninit 1012 10 1 65535 1 4\n", u8::from(one_sided));
        let script = script + segments;
        let states = drive(&program, &script);
        let seen: Vec<_> = states[1..].iter().map(|(_, s)| (s.ece, s.ack_now)).collect();
        let cwr = !one_sided;
        let expected = [(false, false), (true, true), (true, false), (true, cwr), (false, cwr)];
        assert_eq!(seen[..5], expected, "one-sided: {one_sided}");
        assert_eq!(seen[5], (false, false));
    }
}

#[test]
fn slowstart_halves_at_a_first_mark_and_wrong_parameters_are_refused() {
    let program = compile("parameters");
    let script = "set alpha 0\nset slowstart 1\ninit 1012 10 1 65535 1 4\napp 60000\n\
                  ack 1000 1 0 0\n";
    let first_mark = drive(&program, script)[2].1;
    assert_eq!((first_mark.ssthresh, first_mark.alpha), (5 * MSS, 1 << 20));
    for (name, most) in [("alpha", 1024), ("shift_g", 10), ("idle_resets", 1), ("one_sided", 1)] {
        for (value, answer) in [(most, "set\n"), (most + 1, "refused\n")] {
            let echo = format!("printf 'set {name} {value}\\n' | '{}'", program.display());
            let output = Command::new("sh").args(["-c", &echo]).output().expect("a shell");
            assert_eq!(String::from_utf8_lossy(&output.stdout), answer, "{name} {value}");
        }
    }
}
