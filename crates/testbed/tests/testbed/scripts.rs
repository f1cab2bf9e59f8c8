//! packetdrill scripts on the kernel's own sockets.

use lowtide_packetdrill::run::{RunOptions, ScriptReport};
use lowtide_packetdrill::script::Script;
use lowtide_testbed::scripts::{self, KernelRun};
use lowtide_units::Duration;

/// Wide enough for a busy machine: no result here depends on exact times.
const TOLERANCE: Duration = Duration::from_ms(100);

const OPEN: &str = "--so_flags=\"profile=rfc ts=0 ws=0 iw=4 nodelay=1\"
0     socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0    bind(3, ..., ...) = 0
+0    listen(3, 1) = 0
+0    < S 0:0(0) win 65535 <mss 1000,nop,nop,sackOK>
+0    > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>
+.1   < . 1:1(0) ack 1 win 65535
+0    accept(3, ..., ...) = 4
";

fn run(text: &str, leave_out: bool) -> KernelRun {
    let script = Script::parse("x.pkt", text).unwrap();
    let profile = Some("linux".to_owned());
    let options = RunOptions { profile, tolerance: Some(TOLERANCE), ..RunOptions::default() };
    scripts::run(&script, &options, leave_out).unwrap()
}

fn report(text: &str) -> ScriptReport {
    match run(text, false) {
        KernelRun::Ran(report) => *report,
        other => panic!("it did not run: {other:?}"),
    }
}

/// Data both ways, the initial window of the script, an assertion, and the end. The peer answers
/// long before a tail loss probe is due, two round trips of 0.1 s after the data.
const DATA: &str = "+0    write(4, ..., 6000) = 6000
+0    > . 1:1001(1000) ack 1
+0    > . 1001:2001(1000) ack 1
+0    > . 2001:3001(1000) ack 1
+0    > . 3001:4001(1000) ack 1
+.05  assert cwnd == 4, state == ESTABLISHED, unacked == 4, mss == 1000
+0    < P. 1:501(500) ack 4001 win 65535
+0    > . 4001:5001(1000) ack 501
+0    > P. 5001:6001(1000) ack 501
+0    read(4, ..., 1000) = 500
+.05  < . 501:501(0) ack 6001 win 65535
+0    close(4) = 0
+0    > F. 6001:6001(0) ack 501
+.2   < F. 501:501(0) ack 6002 win 65535
+0    > . 6002:6002(0) ack 502
+.2   assert state == TIME_WAIT
";

pub(crate) fn a_script_passes_and_each_wrong_value_fails() {
    let right = format!("{OPEN}{DATA}");
    if let Some(failure) = report(&right).failure {
        panic!("{failure}");
    }
    for (value, wrong, line) in [
        ("> F. 6001", "> F. 6000", 21),
        ("unacked == 4", "unacked == 5", 14),
        ("= 500\n", "= 501\n", 18),
        ("> P. 5001:6001(1000) ack 501", "> P. 5001:6001(1000) ack 500", 17),
        (",nop,nop,sackOK>\n+.1", ",nop,wscale 3>\n+.1", 6),
        ("state == TIME_WAIT", "state == CLOSED", 24),
    ] {
        assert!(right.contains(value), "{value}");
        let wrong = right.replace(value, wrong).replace("6000:6001(0)", "6000:6000(0)");
        let failure = report(&wrong).failure.unwrap_or_else(|| panic!("passed: {wrong}"));
        assert_eq!(failure.line, line, "{failure}");
    }
}

pub(crate) fn calls_that_block_return_when_they_are_due() {
    let connect = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0...+.3 connect(3, ..., ...) = 0
+0    > S 0:0(0) <...>
+.3   < S. 0:0(0) ack 1 win 65535 <mss 1000>
+0    > . 1:1(0) ack 1
+.1...+.4 read(3, ..., 1000) = 700
+.3   < P. 1:701(700) ack 1 win 65535
+0~+.2 > . 1:1(0) ack 701
";
    let text = format!("--so_flags=\"profile=linux ts=0\"\n{connect}");
    if let Some(failure) = report(&text).failure {
        panic!("{failure}");
    }
    let failure = report(&text.replace("+.1...+.4", "+.1...+2")).failure.unwrap();
    assert!(failure.message.contains("this call returned at"), "{failure}");
    let failure = report(&text.replace("+0...+.3 connect", "+0 connect")).failure.unwrap();
    assert!(failure.message.contains("this call would block"), "{failure}");
}

pub(crate) fn a_line_may_state_several_segments() {
    let rest = "+0 write(4, ..., 3000) = 3000\n+0 > P. 1:3001(3000) ack 1\n";
    assert!(report(&format!("{OPEN}{rest}")).passed());
    let longer = rest.replace("1:3001(3000)", "1:4001(4000)");
    let failure = report(&format!("{OPEN}{longer}")).failure.unwrap();
    assert!(failure.differs.iter().any(|d| d == "length: 3000, expected 4000"), "{failure}");
}

pub(crate) fn what_the_kernel_lacks_is_named() {
    let socket = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n";
    let of = |flags: &str, rest: &str| format!("--so_flags=\"{flags}\"\n{socket}{rest}");
    for (text, needs) in [
        (of("profile=rfc delack=123ms", ""), "`delack=123ms`"),
        (of("profile=freebsd", ""), "the profile `freebsd`"),
        (of("profile=rfc scheme=odctcp", ""), "`freeze-growth=off`"),
        (of("profile=rfc", "+0 assert limited_by == cwnd\n"), "the field `limited_by`"),
        (of("profile=rfc keep-alive-idle=1500ms", ""), "parts of a second"),
        (of("profile=rfc cc=vegas", ""), "the congestion control `vegas`"),
    ] {
        match run(&text, false) {
            KernelRun::Refused(reason) => assert!(reason.contains(needs), "{reason}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    let left_out = of("profile=rfc delack=123ms", "+0 assert limited_by == cwnd\n");
    let KernelRun::Ran(report) = run(&left_out, true) else { panic!("it did not run") };
    assert!(report.passed() && report.notes.len() == 2, "{report:?}");
    let KernelRun::TooLong(lasts) = run(&of("profile=linux", "+201 close(3) = 0\n"), false) else {
        panic!("it ran")
    };
    assert_eq!(lasts, Duration::from_secs(201));
}
