//! The interpreter: a correct script passes, and each kind of error fails with its reason.

use lowtide_packetdrill::run::{self, RunOptions, ScriptFailure, ScriptReport};
use lowtide_packetdrill::script::Script;

const OPEN: &str = "--so_flags=\"profile=rfc ts=0 iw=10 delack=200ms\"
--tolerance_usecs=0
0     socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0    bind(3, ..., ...) = 0
+0    listen(3, 1) = 0
+0    < S 0:0(0) win 65535 <mss 1000,nop,nop,sackOK>
+0    > S. 0:0(0) ack 1 win 65535 <mss 1460,nop,nop,sackOK>
+.1   < . 1:1(0) ack 1 win 65535
+0    accept(3, ..., ...) = 4
";

fn caller(so_flags: &str) -> RunOptions {
    RunOptions { so_flags: Some(so_flags.to_string()), ..RunOptions::default() }
}

fn report(text: &str) -> ScriptReport {
    let script = Script::parse("x.pkt", text).unwrap_or_else(|error| panic!("{error}"));
    run::run(&script, &RunOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn passes(rest: &str) {
    let report = report(&format!("{OPEN}{rest}"));
    if let Some(failure) = report.failure {
        panic!("{failure}\n{}", report.packets.join("\n"));
    }
}

fn fails(rest: &str) -> ScriptFailure {
    report(&format!("{OPEN}{rest}")).failure.unwrap_or_else(|| panic!("passed:\n{rest}"))
}

#[test]
fn every_field_that_differs_is_named() {
    let data = "+0 < [ce] P. 1:1001(1000) ack 1 win 65535\n+.2 ";
    passes(&format!("{data}> [noecn] . 1:1(0) ack 1001 win 65535\n"));
    for (line, differs) in [
        ("> P. 1:1(0) ack 1001", "flags: ., expected P."),
        ("> . 2:2(0) ack 1001", "sequence number: 1, expected 2"),
        ("> . 1:3(2) ack 1001", "length: 0, expected 2"),
        ("> . 1:1(0) ack 1002", "ack: 1001, expected 1002"),
        ("> . 1:1(0) ack 1001 win 9", "win: 65535, expected 9"),
        ("> . 1:1(0) ack 1001 urg 9", "urg: 0, expected 9"),
        ("> [ect01] . 1:1(0) ack 1001", "ECN: noecn, expected ect01"),
        ("> . 1:1(0) ack 1001 <nop,nop,eol,eol>", "options: <>, expected <nop,nop,eol,eol>"),
    ] {
        let failure = fails(&format!("{data}{line}\n"));
        assert_eq!(failure.differs, [differs], "{line}");
        assert_eq!(failure.line, 11);
        assert_eq!(failure.got.as_deref(), Some("> [noecn] . 1:1(0) ack 1001 win 65535"));
        assert!(failure.expected.is_some());
    }
    let failure = fails(&format!("{data}> F. 1:1(0) ack 7\n"));
    assert_eq!(failure.differs.len(), 2, "all of them: {:?}", failure.differs);
}

#[test]
fn packets_must_be_on_time() {
    let data = "+0 < P. 1:1001(1000) ack 1 win 65535\n";
    for (time, differs) in [
        ("+.2", None),
        ("0.3", None),
        ("*", None),
        ("+.1~+.3", None),
        ("0.3~0.4", None),
        ("+.201", Some("time: 0.300000, expected not before 0.301000")),
        ("+.21~+.3", Some("time: 0.300000, expected not before 0.310000")),
    ] {
        let text = format!("{OPEN}{data}{time} > . 1:1(0) ack 1001\n");
        let differs: Vec<String> = differs.into_iter().map(str::to_string).collect();
        assert_eq!(report(&text).failure.map_or(Vec::new(), |f| f.differs), differs, "{time}");
    }
    let late = fails(&format!("{data}+.199 > . 1:1(0) ack 1001\n"));
    assert!(late.message.contains("no packet was sent until 0.299000"), "{late}");
    assert_eq!(late.expected.as_deref(), Some("> . 1:1(0) ack 1001"));
    // Within the tolerance both pass.
    let loose = OPEN.replace("tolerance_usecs=0", "tolerance_usecs=1500");
    for time in ["+.199", "+.201"] {
        let report = report(&format!("{loose}{data}{time} > . 1:1(0) ack 1001\n"));
        assert!(report.passed(), "{time}: {:?}", report.failure);
    }
}

#[test]
fn packets_that_no_line_expects_fail() {
    let data = "+0 < P. 1:1001(1000) ack 1 win 65535\n+0 < P. 1001:2001(1000) ack 1 win 65535\n";
    let end = fails(data);
    assert!(end.message.contains("no line expects was sent before the end"), "{end}");
    assert_eq!(end.got.as_deref(), Some("> [noecn] . 1:1(0) ack 2001 win 65535"));
    // Before a later line, even if the packet's own line follows.
    let early = fails(&format!("{data}+1 read(4, ..., 9000) = 2000\n* > . 1:1(0) ack 2001\n"));
    assert!(early.message.contains("was sent before this line"), "{early}");
    assert_eq!((early.line, early.at.as_ps()), (12, 100_000_000_000));
}

#[test]
fn a_missing_packet_ends_the_wait_at_its_time() {
    let failure =
        fails("+0 < P. 1:1001(1000) ack 1 win 65535\n* > . 1:1(0) ack 1001\n* > . 1:1(0) ack 9\n");
    assert!(failure.message.contains("no packet was sent until 75.3"), "{failure}");
}

#[test]
fn a_line_in_the_past_fails() {
    let failure = fails("0.05 < . 1:1(0) ack 1 win 65535\n");
    assert!(failure.message.contains("lasted until 0.100000"), "{failure}");
}

#[test]
fn results_of_calls_are_compared() {
    let failure = fails("+0 write(4, ..., 100) = 99\n");
    assert_eq!((failure.expected.as_deref(), failure.got.as_deref()), (Some("99"), Some("100")));
    let failure = fails("+0 close(9) = 0\n");
    assert_eq!(failure.got.as_deref(), Some("-1 EBADF (Bad file descriptor)"));
    let failure = fails("+0 getsockopt(4, SOL_SOCKET, SO_ERROR, [ECONNRESET], [4]) = 0\n");
    assert_eq!(failure.expected.as_deref(), Some("104, ECONNRESET (Connection reset by peer)"));
    passes("+0 getsockopt(4, SOL_TCP, TCP_MAXSEG, [1000], [4]) = 0\n");
    passes("+0 close(9) = -1\n+0 close(9) = ...\n");
}

#[test]
fn calls_that_block_return_in_their_time() {
    let read = "+0...+.2 read(4, ..., 100) = 10\n";
    passes(&format!("{read}+.2 < P. 1:11(10) ack 1 win 65535\n"));
    let early = fails(&format!("{read}+.1 < P. 1:11(10) ack 1 win 65535\n"));
    assert!(early.message.contains("returned at 0.200000, expected at 0.300000"), "{early}");
    let never = fails(read);
    assert!(never.message.contains("has not returned at 0.300000"), "{never}");
    let late = fails(&format!("{read}+.5 < P. 1:11(10) ack 1 win 65535\n"));
    assert!(
        late.message.contains("has not returned") || late.message.contains("returned at"),
        "{late}"
    );
    let second = fails(&format!("{read}+.1 write(4, ..., 1) = 1\n"));
    assert!(second.message.contains("call of line 10 has not returned"), "{second}");
    let no_range = fails("+0 read(4, ..., 100) = 10\n");
    assert!(no_range.message.contains("would block"), "{no_range}");
}

#[test]
fn a_blocking_write_waits_for_room() {
    let text = OPEN.replace("iw=10", "iw=10 sndbuf=2kB");
    let rest = "+0...+.1 write(4, ..., 3000) = 3000
+0 > . 1:1001(1000) ack 1
+0 > P. 1001:2001(1000) ack 1
+.1 < . 1:1(0) ack 2001 win 65535
+0 > P. 2001:3001(1000) ack 1
";
    let report = report(&format!("{text}{rest}"));
    assert!(report.passed(), "{:?}", report.failure);
}

#[test]
fn failed_assertions_show_the_value() {
    passes("+0 assert cwnd == 10, ssthresh == infinite && srtt < 101ms and ecn == false\n");
    passes(
        "+0 %{ assert tcpi_snd_cwnd == 10, \"iw\"\nassert tcpi_rtt == 100000 and tcpi_state == TCP_ESTABLISHED }%\n",
    );
    let failure = fails("+0 assert cwnd_bytes > 5000, cwnd == 11\n");
    assert_eq!(failure.expected.as_deref(), Some("cwnd == 11"));
    assert_eq!(failure.got.as_deref(), Some("cwnd = 10"));
    assert_eq!(&failure.text[failure.span], "cwnd == 11");
    let failure = fails("+0 assert alpha == 1\n");
    assert_eq!(failure.got.as_deref(), Some("alpha = not there"));
}

#[test]
fn overlapping_segments_are_reassembled() {
    passes(
        "+0 write(4, ..., 300) = 300
+0 > P. 1:301(300) ack 1
+.1 < . 1:1(0) ack 301 win 65535
+0 < P. 101:201(100) ack 301 win 65535
+0 > . 301:301(0) ack 1 <nop,nop,sack 101:201>
+0 < P. 1:151(150) ack 301 win 65535
+0 > . 301:301(0) ack 201 <...>
+0 recv(4, ..., 50, MSG_PEEK) = 50
+0 read(4, ..., 120) = 120
+0 read(4, ..., 120) = 80
",
    );
}

#[test]
fn numbers_wrap_on_both_sides() {
    let text = OPEN
        .replace("iw=10", "iw=10 isn=4294966796")
        .replace("< S 0:0(0)", "< S 4294966795:4294966795(0)")
        .replace("ack 1 win 65535 <mss 1460", "ack 4294966796 win 65535 <mss 1460");
    let rest = "+0 write(4, ..., 2000) = 2000
+0 > . 1:1001(1000) ack 1
+0 > P. 1001:2001(1000) ack 1
+.1 < . 1001:2001(1000) ack 1 win 65535 <nop,nop,sack 1001:2001>
+0 > . 2001:2001(0) ack 1 <nop,nop,sack 1001:2001>
+0 < P. 1:1001(1000) ack 2001 win 65535
+0 > . 2001:2001(0) ack 2001
+0 read(4, ..., 5000) = 2000
";
    let report = report(&format!("{text}{rest}"));
    assert!(report.passed(), "{:?}", report.failure);
}

#[test]
fn timestamps_are_mapped_on_first_use_and_ticks_are_checked() {
    let open = OPEN
        .replace("ts=0", "ts=1")
        .replace("<mss 1000,nop,nop,sackOK>", "<mss 1000,sackOK,TS val 70 ecr 0>")
        .replace("<mss 1460,nop,nop,sackOK>", "<mss 1460,sackOK,TS val 500 ecr 70>")
        .replace("ack 1 win 65535\n", "ack 1 win 65535 <nop,nop,TS val 170 ecr 500>\n");
    let write = |stamp: &str| {
        format!("{open}+0 write(4, ..., 9) = 9\n+0 > P. 1:10(9) ack 1 <nop,nop,TS val {stamp}>\n")
    };
    assert!(report(&write("600 ecr 170")).passed());
    assert!(report(&write("777 ecr 170")).passed(), "any value that is new");
    let again = report(&write("500 ecr 170")).failure.expect("the same value later");
    assert_eq!(again.differs, ["TSval: 100 ticks after the one that was 500 before"]);
    let echo = report(&write("600 ecr 70")).failure.expect("an old echo");
    assert_eq!(echo.differs, ["TSecr: 170, expected 70"]);
    let ticking = |stamp: &str| write(stamp).replace("--tol", "--tcp_ts_tick_usecs=1000\n--tol");
    assert!(report(&ticking("600 ecr 170")).passed());
    let wrong = report(&ticking("777 ecr 170")).failure.expect("277 ms have not passed");
    assert_eq!(wrong.differs, ["TSval: 100 ticks after the first one, expected 277"]);
}

#[test]
fn sockets_end_as_on_linux() {
    // Unread data, and data after close: RST (RFC 1122 §4.2.2.13).
    passes(
        "+0 < P. 1:11(10) ack 1 win 65535
+.01 close(4) = 0
+0 > R. 1:1(0) ack 11
",
    );
    passes(
        "+0 close(4) = 0
+0 > F. 1:1(0) ack 1
+.1 < P. 1:11(10) ack 2 win 65535
+0 > R 2:2(0)
",
    );
    passes(
        "+0 setsockopt(4, SOL_SOCKET, SO_LINGER, {onoff=1, linger=0}, 8) = 0
+0 close(4) = 0
+0 > R. 1:1(0) ack 1
",
    );
    // A reset is reported once; then a write gives EPIPE and a read the end of stream.
    passes(
        "+0 < R. 1:1(0) ack 1
+0 assert state == CLOSED
+0 read(4, ..., 10) = -1 ECONNRESET
+0 read(4, ..., 10) = 0
+0 write(4, ..., 10) = -1 EPIPE
",
    );
    passes(
        "+0 shutdown(4, SHUT_WR) = 0
+0 > F. 1:1(0) ack 1
+0 write(4, ..., 10) = -1 EPIPE
+.1 < FP. 1:11(10) ack 2 win 65535
+0 > . 2:2(0) ack 12
+0 read(4, ..., 10) = 10
+0 read(4, ..., 10) = 0
+0 close(4) = 0
+0 assert state == TIME_WAIT
",
    );
}

#[test]
fn unknown_segments_get_rst_and_a_new_connection_resets_the_mapping() {
    let report = report(
        "--tolerance_usecs=0
0 < . 5:5(0) ack 77 win 100
+0 > R 77:77(0)
+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
+0 connect(3, ..., ...) = -1 EINPROGRESS
+0 > S 0:0(0) <...>
+.1 < R. 0:0(0) ack 1
+0 getsockopt(3, SOL_SOCKET, SO_ERROR, [ECONNREFUSED], [4]) = 0
+0 close(3) = 0
+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
+0 connect(3, ..., ...) = -1 EINPROGRESS
+0 > S 100:100(0) <...>
+.1 < S. 9:9(0) ack 101 win 1000
+0 > . 1:1(0) ack 1
",
    );
    assert!(report.passed(), "{:?}", report.failure);
}

#[test]
fn time_wait_lets_a_newer_syn_in() {
    passes(
        "+0 close(4) = 0
+0 > F. 1:1(0) ack 1
+.1 < F. 1:1(0) ack 2 win 65535
+0 > . 2:2(0) ack 2
+1 < S 50000:50000(0) win 65535
+0 > S. 0:0(0) ack 50001 <mss 1460>
+0 assert state == SYN_RECEIVED
+.1 < . 1:1(0) ack 1 win 65535
+0 assert state == ESTABLISHED
",
    );
}

#[test]
fn a_blind_syn_does_not_move_the_numbers() {
    passes(
        "+0 < S 700:700(0) win 65535
+0 > . 1:1(0) ack 1
+.01 < P. 1:11(10) ack 1 win 65535
+.2 > . 1:1(0) ack 11
",
    );
}

#[test]
fn data_transfer_over_ipv6() {
    let text = OPEN.replace("--tol", "--ip_version=ipv6\n--tol").replace("mss 1460", "mss 1440");
    let rest = "+0 write(4, ..., 100) = 100\n+0 > P. 1:101(100) ack 1\n";
    let report = report(&format!("{text}{rest}"));
    assert!(report.passed(), "{:?}", report.failure);
}

#[test]
fn caller_settings_override_and_ignored_options_are_noted() {
    let text = format!("{OPEN}+0 assert cwnd == 3\n").replace("--tol", "--verbose\n--tol");
    let text = format!("{text}`rm -rf x`\n");
    let script = Script::parse("x.pkt", &text).expect("a script");
    let report = run::run(&script, &caller("iw=3")).expect("it runs");
    assert!(report.passed(), "{:?}", report.failure);
    let notes: Vec<(usize, &str)> =
        report.notes.iter().map(|n| (n.line, n.text.as_str())).collect();
    assert_eq!(
        notes,
        [(2, "--verbose has no effect here"), (12, "`rm` is not run: commands never are")]
    );
    let error = run::run(&script, &caller("iw=x")).expect_err("wrong");
    assert!(error.message.contains("settings of the caller"), "{}", error.message);
}

#[test]
fn tolerance_grows_with_the_time_since_the_previous_event() {
    // The delayed ACK is sent 200 ms after the data.
    let script = |percent: &str, line: &str| {
        let option = format!("--tolerance_percent={percent}\n--tol");
        let data = "+0 < P. 1:1001(1000) ack 1 win 65535\n";
        report(&format!("{}{data}{line}\n", OPEN.replace("--tol", &option)))
    };
    let ack = "> . 1:1(0) ack 1001";
    for (percent, time, passes) in [
        // An eighth of 228 ms is 28.5 ms, of 229 ms 28.6 ms.
        ("12.5", "+.228", true),
        ("12.5", "+.229", false),
        ("12.5", "+.177", false),
        ("12.5", "+.178", true),
        ("\"12.5\"", "+.228", true),
        ("0", "+.2000001", false),
        ("100", "+.1", true),
        (".000001", "+.2000000001", true),
        // For a range, the time from the previous event to its start counts.
        ("10", "+.1~+.19", true),
        ("10", "+.1~+.18", false),
    ] {
        let passed = script(percent, &format!("{time} {ack}")).passed();
        assert_eq!(passed, passes, "{percent} {time}");
    }
    for wrong in ["100.1", "-1", "x", ".", "1.0000001", ""] {
        let text = format!("--tolerance_percent={wrong}\n+0 close(3) = ...\n");
        let parsed =
            Script::parse("x.pkt", &text).and_then(|s| run::run(&s, &RunOptions::default()));
        assert!(parsed.is_err(), "{wrong}");
    }
}

#[test]
fn without_strict_a_packet_waits_for_the_next_line() {
    let data = "+0 < P. 1:1001(1000) ack 1 win 65535\n+0 < P. 1001:2001(1000) ack 1 win 65535\n";
    assert!(fails(data).message.contains("before the end"));
    let lax = OPEN.replace("iw=10", "iw=10 strict=0");
    assert!(report(&format!("{lax}{data}")).passed(), "left over at the end");
    let later = "+1 read(4, ..., 9000) = 2000\n* > . 1:1(0) ack 2001\n";
    assert!(fails(&format!("{data}{later}")).message.contains("was sent before this line"));
    assert!(report(&format!("{lax}{data}{later}")).passed(), "its line comes later");
    // The next line is compared with the packet that was sent first.
    let another =
        report(&format!("{lax}{data}+1 write(4, ..., 9) = 9\n+0 > P. 1:10(9) ack 2001\n"));
    let failure = another.failure.expect("the ACK came first");
    assert_eq!(failure.got.as_deref(), Some("> [noecn] . 1:1(0) ack 2001 win 65535"));
}

#[test]
fn ioctl_returns_unread_bytes() {
    passes(
        "+0 ioctl(4, SIOCINQ, [0]) = 0
+0 < P. 1:1001(1000) ack 1 win 65535
+0 ioctl(4, FIONREAD, [1000]) = 0
+0 read(4, ..., 300) = 300
+0 ioctl(4, SIOCINQ, [700]) = 0
+0 ioctl(4, SIOCINQ, ...) = 0
+0 ioctl(3, SIOCINQ, ...) = -1 EINVAL
+0 ioctl(9, SIOCINQ, [0]) = -1 EBADF
+.2 > . 1:1(0) ack 1001
+.1 < F. 1001:1001(0) ack 1 win 65535
+0 > . 1:1(0) ack 1002
+0 ioctl(4, SIOCINQ, [700]) = 0
+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 5
+0 ioctl(5, SIOCINQ, [0]) = 0
",
    );
    let failure = fails("+0 ioctl(4, SIOCINQ, [7]) = 0\n");
    assert_eq!((failure.expected.as_deref(), failure.got.as_deref()), (Some("7"), Some("0")));
}
