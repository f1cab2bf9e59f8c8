//! The language: supported constructs are read; all others are rejected by name and position.

use lowtide_packetdrill::run::{self, RunOptions};
use lowtide_packetdrill::script::{Action, EventTime, PacketSpec, Script, ScriptError, TcpOption};
use lowtide_units::Duration;
use lowtide_wire::Flags;

fn parse(text: &str) -> Script {
    Script::parse("x.pkt", text).unwrap_or_else(|error| panic!("{error}"))
}

/// The error of a script, found while parsing or running it.
fn refusal(text: &str) -> ScriptError {
    match Script::parse("x.pkt", text).and_then(|s| run::run(&s, &RunOptions::default())) {
        Err(error) => error,
        Ok(report) => panic!("{text}: accepted, {:?}", report.failure),
    }
}

fn packet(text: &str) -> PacketSpec {
    match parse(text).events.remove(0).action {
        Action::Packet(spec) => spec,
        other => panic!("{other:?}"),
    }
}

#[test]
fn times_in_all_forms() {
    let us = Duration::from_us;
    for (text, when) in [
        ("1.5", EventTime::Absolute(us(1_500_000))),
        (".5", EventTime::Absolute(us(500_000))),
        ("+.1", EventTime::Relative(us(100_000))),
        ("+0", EventTime::Relative(us(0))),
        ("+0.000001", EventTime::Relative(us(1))),
        ("*", EventTime::Any),
        ("1~2.5", EventTime::AbsoluteRange(us(1_000_000), us(2_500_000))),
        ("+.1~+.2", EventTime::RelativeRange(us(100_000), us(200_000))),
        ("", EventTime::Relative(us(0))),
    ] {
        let script = parse(&format!("{text} > . 1:1(0) ack 1\n"));
        assert_eq!(script.events[0].when, when, "{text}");
    }
    let call = parse("+.1...+.25 read(4, ..., 10) = 10");
    assert_eq!(call.events[0].when, EventTime::Relative(us(100_000)));
    assert_eq!(call.events[0].until, Some(us(250_000)));
    let call = parse("0...0.2 read(4, ..., 10) = 10");
    assert_eq!(
        (call.events[0].when, call.events[0].until),
        (EventTime::Absolute(us(0)), Some(us(200_000)))
    );
}

#[test]
fn packets_in_all_parts() {
    let spec = packet(
        "+0 < [ce] FPEWA. 4294967000:404(700) ack 7 win 9 urg 3 \
         <mss 1460,sackOK,TS val 1 ecr 2,wscale 7,sack 1:2 3:4,nop,eol,eol>\n",
    );
    let all = Flags::FIN | Flags::PSH | Flags::ECE | Flags::CWR | Flags::AE | Flags::ACK;
    assert!(spec.inbound);
    assert_eq!((spec.flags, spec.seq, spec.len), (all, 4_294_967_000, 700), "wraps at 2^32");
    assert_eq!((spec.ack, spec.window, spec.urgent), (Some(7), Some(9), 3));
    let options = spec.options.expect("options");
    assert_eq!(options[2], TcpOption::Timestamps { value: 1, echo: 2 });
    assert_eq!(options[4], TcpOption::Sack(vec![(1, 2), (3, 4)]));
    let raw = packet("< . 1:1(0) ack 1 win 5 <nop,nop,nop,raw 1e04aB00,raw 02>").options;
    let raw = raw.expect("options");
    assert_eq!(raw[3..], [vec![0x1e, 4, 0xab, 0], vec![2]].map(TcpOption::Raw));
    assert_eq!(packet("> - 1:1(0)").flags, Flags::NONE);
    assert_eq!(packet("> . 1:1(0) ack 1 <...>").options, None);
    assert_eq!(packet("> . 1:1(0) ack 1").options, Some(Vec::new()));
    assert_eq!(packet("> . 1:1(0) ack 1 // <nop,nop,TS val 1 ecr 1>").options, Some(Vec::new()));
}

#[test]
fn events_without_a_time_and_comments_anywhere() {
    let script = parse(
        "#!/usr/bin/env packetdrill\n// a\n/* b\n c */ 0 > . 1:1(0) ack 1 /* d */\n\
         < . 1:1(0) ack 1 win 5\n`true`\n+1 listen(3, /* e */\n   1) = 0 // f\n",
    );
    assert_eq!(script.events.len(), 4);
    assert_eq!(script.line(script.events[3].span.start), 7);
    assert!(script.text[script.events[3].span.clone()].ends_with("= 0"));
}

#[test]
fn ifdef_standard_is_taken_and_line_numbers_stay() {
    let script = parse(
        "#ifdef STANDARD\n+0 > . 1:1(0) ack 1\n#else\nnonsense here\n#endif\n\
         #ifndef STANDARD\nnonsense\n#endif\n+1 > . 2:2(0) ack 1\n",
    );
    let lines: Vec<usize> = script.events.iter().map(|e| script.line(e.span.start)).collect();
    assert_eq!(lines, [2, 9]);
}

#[test]
fn unsupported_constructs_are_refused_by_name_and_position() {
    let open = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n";
    for (line, says, place) in [
        ("+0 < icmp unreachable", "`icmp` packets are not supported", "icmp"),
        ("+0 > udp (100)", "`udp` packets are not supported", "udp"),
        ("+0 < [tos 3] . 1:1(0) ack 1 win 1", "`[tos 3]` is not supported", "tos 3"),
        ("+0 > (ttl 64) . 1:1(0) ack 1", "`(ttl`", "(ttl"),
        ("+0 < . 1:1(0) ack 1 win 5 <FO 0011>", "option `FO` is not supported", "FO"),
        ("+0 < 3A. 1:1(0) ack 1 win 5", "stated twice", "3A."),
        ("+0 < A3. 1:1(0) ack 1 win 5", "stated twice", "A3."),
        ("+0 < . 1:1(0) ack 1 win 5 <ECN ceb 1,nop,nop,nop>", "next counter", "ceb"),
        ("+0 < . 1:1(0) ack 1 win 5 <ECN e1b 16777216,nop,nop,nop>", "24 bits", "16777216"),
        ("+0 < Q. 1:1(0) ack 1 win 5", "`Q` is not a TCP flag", "Q."),
        ("+0 < .. 1:1(0) ack 1 win 5", "is repeated", ".."),
        ("+0 < . 1:2(0) ack 1 win 5", "1 and 0 bytes make 1, not 2", "1:2(0)"),
        ("+0 < . 1:1(0) ack 1", "needs `win`", "< . 1:1(0) ack 1"),
        ("+0 < . 1:1(0) win 5", "needs `ack`", "< . 1:1(0) win 5"),
        ("+0 > S 0:0(0) ack 1", "without the flag", "> S 0:0(0) ack 1"),
        ("+0 < . 1:1(0) ack 1 win 70000", "does not fit", "70000"),
        ("+0 < . 1:1(0) ack 1 win 5 <...>", "cannot describe", "< . 1:1(0) ack 1 win 5 <...>"),
        ("+0 < . 1:1(0) ack 1 win 5 <raw 1e0>", "not hexadecimal bytes", "1e0"),
        ("+0 < . 1:1(0) ack 1 win 5 <raw x>", "not hexadecimal bytes", ""),
        ("+0 > . 1:1(0) ack 1 <raw 01010101>", "`raw` is for", "> . 1:1(0) ack 1 <raw 01010101>"),
        (
            "+0 < . 1:1(0) ack 1 win 5 <nop>",
            "these options take 1 bytes",
            "< . 1:1(0) ack 1 win 5 <nop>",
        ),
        ("+0 < . 1:1(0) ack 1 win 5 extra", "`extra` is not supported", "extra"),
        ("* listen(3, 1) = 0", "uncertain time", "* listen(3, 1) = 0"),
        ("+.1~.2 > . 1:1(0) ack 1", "both ends of a range", ".1~"),
        ("2~1 > . 1:1(0) ack 1", "ends before it begins", "2~1"),
        ("+0...+1 > . 1:1(0) ack 1", "calls that block", "+0...+1 > . 1:1(0) ack 1"),
        ("+0 sendfile(3, 4, [0], 5) = 5", "`sendfile` is not supported", "sendfile"),
        ("+0 close(3) = -1 EWHAT", "`EWHAT` is not an error", "EWHAT"),
        ("+0 close(3) = 0 EBADF", "after a result that is not an error", "EBADF"),
        ("+0 { write(3, ..., 1) = 1 }", "braces", "{"),
        ("+0 %{ import os }%", "`import` is not supported in a block", "import"),
        ("+0 %{ assert tcpi_ca_state == 0 }%", "no field `tcpi_ca_state`", "tcpi_ca_state"),
        ("+0 assert cwmd == 1", "no field `cwmd`", "cwmd"),
        ("+0 assert cwnd = 1", "one of == != < <= > >=", "="),
        ("+0 assert rto == 200", "has no unit", "200"),
        ("+0 assert cwnd == 1ms", "not a value of `cwnd`", "1ms"),
        ("+0 assert state == UP", "not a value of `state`", "UP"),
        ("+0 assert state >= ESTABLISHED", "compare by == or !=", "state >= ESTABLISHED"),
        ("+0 assert cwnd == rto", "different kinds", "rto"),
        ("+0 assert alpha == 1/0", "divided by zero", "1/0"),
        ("--mtu=1500", "after the first event", "--mtu=1500"),
        ("#include \"x\"", "`#include` is not supported", "#include \"x\""),
        ("#ifdef LINUX", "`LINUX` is not known", "#ifdef LINUX"),
        ("#else", "without `#ifdef`", "#else"),
        ("/* no end", "no end", "/*"),
        ("+0 bogus", "`bogus` is not supported", "bogus"),
        // Found at run time.
        ("+0 socket(..., SOCK_DGRAM, IPPROTO_UDP) = 4", "argument is not supported", "SOCK_DGRAM"),
        (
            "+0 setsockopt(3, SOL_TCP, TCP_CORK, [1], 4) = 0",
            "SOL_TCP TCP_CORK is not supported",
            "TCP_CORK",
        ),
        ("+0 recv(3, ..., 10, MSG_OOB) = 1", "argument is not supported", "MSG_OOB"),
        ("+0 shutdown(3) = 0", "an argument is missing", "+0 shutdown(3) = 0"),
        ("+0 ioctl(3, SIOCOUTQ, [0]) = 0", "argument is not supported", "SIOCOUTQ"),
        ("+0 ioctl(3, SIOCINQ) = 0", "an argument is missing", "+0 ioctl(3, SIOCINQ) = 0"),
        ("+0 write(3, ..., 99999999999) = 1", "argument is not supported", "99999999999"),
        ("`sysctl net.ipv4.tcp_ecn=9`", "sysctl net.ipv4.tcp_ecn", "`sysctl net.ipv4.tcp_ecn=9`"),
    ] {
        let error = refusal(&format!("{open}{line}\n"));
        assert!(error.message.contains(says), "{line}: {}", error.message);
        assert_eq!(error.line(), 2, "{line}");
        assert_eq!(&error.text[error.span.clone()], place, "{line}");
    }
}

#[test]
fn option_errors_have_a_position() {
    for (line, says, place) in [
        ("--wire_client", "`--wire_client` is not supported", "--wire_client"),
        (
            "--ip_version=ipv4-mapped-ipv6",
            "`ipv4-mapped-ipv6` is not",
            "--ip_version=ipv4-mapped-ipv6",
        ),
        ("--so_flags=\"profile=rfc tcpecn=1\"", "`tcpecn`", "tcpecn=1"),
        ("--so_flags=profile=bsd", "no profile `bsd`", "profile=bsd"),
        ("--tolerance_usecs=1ms", "not a whole number", "--tolerance_usecs=1ms"),
        ("--local_ip=there", "not an IP address", "--local_ip=there"),
    ] {
        let error = refusal(&format!("// c\n{line}\n+0 close(3) = ...\n"));
        assert!(error.message.contains(says), "{line}: {}", error.message);
        assert_eq!((error.line(), &error.text[error.span.clone()]), (2, place), "{line}");
    }
}

#[test]
fn an_error_shows_the_line_and_a_caret() {
    let shown = refusal("0 close(3) = -1 EBADF\n+0 < icmp x\n").to_string();
    assert_eq!(
        shown,
        "x.pkt:2: `icmp` packets are not supported: TCP only\n    +0 < icmp x\n         ^^^^"
    );
}

/// Any text gives a script or an error: every prefix, and every text with one piece removed or
/// doubled.
#[test]
fn no_text_makes_the_reader_panic() {
    let seed = include_str!("../../scripts/options/all-options.pkt");
    let odd = "+0 %{ assert (tcpi_rtt <= 5 and cwnd > .5), \"é\" # ü\n }%\n`a`\n\
               0...1 sendto(3, {a = [1, {b = c|d}]}, 0x1f, 0, ..., 0) = -1 EAGAIN (x)\n/*é*/ #endif";
    for text in [seed, odd] {
        for at in text.char_indices().map(|(at, _)| at) {
            let _ = Script::parse("x", &text[..at]).map(|s| run::run(&s, &RunOptions::default()));
            for len in [1, 3, 9, 40] {
                let Some(end) = (at + len..text.len()).find(|e| text.is_char_boundary(*e)) else {
                    continue;
                };
                let (head, piece, tail) = (&text[..at], &text[at..end], &text[end..]);
                let _ = Script::parse("x", &format!("{head}{tail}"));
                let doubled = format!("{head}{piece}{piece}{tail}");
                if let Ok(script) = Script::parse("x", &doubled) {
                    assert_eq!(&*script.text, doubled);
                }
            }
        }
    }
}
