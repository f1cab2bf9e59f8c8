//! Scripts for stock packetdrill: it can read the output of `--stock`.

use std::fs;

use lowtide_packetdrill::run::{self, RunOptions};
use lowtide_packetdrill::script::Script;

use crate::scripts::{all, name};
use crate::stock_grammar::check;

#[test]
fn stock_output_follows_the_stock_grammar() {
    let (mut faults, mut refused) = (Vec::new(), Vec::new());
    for path in all() {
        let name = name(&path);
        let text = fs::read_to_string(&path).expect("a script");
        match Script::parse(&name, &text).expect("a script").for_stock() {
            Ok(stock) => {
                if let Err(why) = check(&stock) {
                    faults.push(format!("{name}: {why}"));
                }
                // The interpreter gives the same result, and a second conversion the same text.
                let again = Script::parse(&name, &stock).expect("a script");
                let report = run::run(&again, &RunOptions::default()).expect("a script");
                faults.extend(report.failure.map(|failure| failure.to_string()));
                assert_eq!(again.for_stock().as_deref(), Ok(stock.as_str()), "{name}");
            }
            Err(error) => refused.push(format!("{name}: {}", error.message)),
        }
    }
    assert!(faults.is_empty(), "{}\n{}", faults.len(), faults.join("\n"));
    // Blocking calls, options that packetdrill lacks, a second connection on the same four-tuple.
    assert!(refused.len() * 20 < all().len(), "{}", refused.join("\n"));
}

#[test]
fn the_grammar_refuses_what_stock_packetdrill_refuses() {
    let open = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n";
    for line in [
        "+0 < R 1:1(0) win 0",
        "+0 > PE. 1:11(10) ack 1 urg 3 <nop,nop,sack 1:2 3:4>",
        "+0 < - 1:1(0) win 0",
        "+.1~+.2 > . 1:1(0) ack 1 <...>",
        "* > [ect01] . 1:1(0) ack 1",
        "+0 accept(3, ..., ...) = -1 EAGAIN (Resource temporarily unavailable)",
        "+0 fcntl(3, F_GETFL) = 0x2 (flags O_RDWR)",
        "+0 setsockopt(3, SOL_SOCKET, SO_LINGER, {onoff=1, linger=0}, 8) = 0",
        "+0 `true` /* a * */",
    ] {
        assert_eq!(check(&format!("{open}{line}\n")), Ok(()), "{line}");
    }
    for line in [
        "+0 < R 1:1(0)",
        "+0 < R 1:1(0) <nop> win 0",
        "+0 > .E 1:1(0) ack 1",
        "+0 > . 4294967295:0(1) ack 1",
        "+0 < [ect01] . 1:1(0) ack 1 win 1",
        "+0 < . 1:1(0) ack 1 win 1 <...>",
        "+0 < . 1:1(0) ack 1 win 1 <raw 01010101>",
        "+0 < . 1:1(0) ack 1 win 1 <DX>",
        "> . 1:1(0) ack 1",
        "`true`",
        "+0 assert cwnd == 10",
        "+0 accept(3, ..., ...) = -1 EAGAIN",
        "+0 accept(3, ..., ...) = ...",
        "+0...+.1 read(3, ..., 1) = 1",
        "+0 getsockopt(3, SOL_SOCKET, SO_ERROR, ..., [4]) = 0",
        "#ifdef STANDARD",
        "/* a **/",
        "--mtu=1500",
        "// no line end",
    ] {
        let end = if line.starts_with("//") { "" } else { "\n" };
        assert!(check(&format!("{open}{line}{end}")).is_err(), "{line}");
    }
    for text in [
        format!("--tolerance_usecs=0\n{open}"),
        format!("--tolerance_percent=12.5\n{open}"),
        format!("--so_flags=ts=0 iw=10\n{open}"),
        "+.1 `true`\n".to_string(),
        String::new(),
    ] {
        assert!(check(&text).is_err(), "{text}");
    }
}
