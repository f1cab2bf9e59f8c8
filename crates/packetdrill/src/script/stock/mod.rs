//! Rewrites a script for stock packetdrill, whose grammar is narrower than ours. Every event is
//! printed from its syntax tree; comments stay in place.

mod lines;
mod sockets;

use super::{Action, EventTime, Script, ScriptError, ScriptOption, Syscall, conditional};
use crate::command;
use lowtide_units::Duration;
use sockets::SocketTracker;

/// packetdrill's default, in microseconds. Its clock advances while it runs, so exact times cannot
/// be required.
const TOLERANCE_US: u64 = 4000;

/// Options with the same meaning in packetdrill. The others control packetdrill itself, which is up
/// to its caller.
const PASSED_THROUGH: [&str; 6] = [
    "tolerance_percent",
    "tcp_ts_tick_usecs",
    "local_ip",
    "remote_ip",
    "bind_port",
    "connect_port",
];

pub(super) fn text(script: &Script) -> Result<String, ScriptError> {
    // Unselected `#ifdef` branches and the directives, which packetdrill lacks, are blank in it.
    let chosen = conditional::apply(&script.name, &script.text)?;
    let mut out = Writer { chosen: &chosen, text: String::with_capacity(chosen.len()), done: 0 };
    let mut header = Some(header(script)?);
    for option in &script.options {
        out.copy_upto(option.span.start);
        out.lines(header.take());
        out.done = option.span.end;
        out.drop_line_end();
    }
    if script.events.is_empty() {
        return Err(script.error(0..0, "stock packetdrill runs no script without an event"));
    }
    let mut sockets = SocketTracker::default();
    for event in &script.events {
        let refuse = |message: String| script.error(event.span.clone(), message);
        if event.until.is_some() {
            return Err(refuse("a call that blocks cannot run over the shared object".to_string()));
        }
        let action = match &event.action {
            Action::Packet(spec) => {
                sockets.packet(spec).map_err(refuse)?;
                lines::packet(spec).map_err(refuse)?
            }
            Action::Call(call) => {
                sockets.call(call).map_err(refuse)?;
                lines::call(call).map_err(refuse)?
            }
            Action::Assert(_) | Action::Command(_) => "`true`".to_string(),
        };
        out.copy_upto(event.span.start);
        // packetdrill needs the first event at time zero.
        if let Some(header) = header.take() {
            out.lines(Some(header));
        }
        let zero = matches!(event.when, EventTime::Absolute(t) | EventTime::Relative(t) if t == Duration::ZERO);
        if event.span.start == script.events[0].span.start && !zero {
            out.lines(Some("0 `true`\n".to_string()));
        }
        let time = chosen.get(event.span.start..event.action_at).unwrap_or("");
        out.text.push_str(if time.trim().is_empty() { "+0 " } else { time });
        out.text.push_str(&action);
        out.done = event.span.end;
    }
    out.copy_upto(chosen.len());
    // In packetdrill a `//` comment ends with a line end, not with the file.
    if !out.text.ends_with('\n') {
        out.text.push('\n');
    }
    Ok(out.text)
}

struct Writer<'a> {
    chosen: &'a str,
    text: String,
    /// Bytes of the script copied or replaced so far.
    done: usize,
}

impl Writer<'_> {
    /// Copies blanks and comments up to the next option or event.
    fn copy_upto(&mut self, upto: usize) {
        let gap = self.chosen.get(self.done..upto).unwrap_or("");
        // packetdrill does not end a comment at `**/`.
        self.text.push_str(&gap.replace("**/", "* */"));
        self.done = self.done.max(upto);
    }

    /// Appends whole lines, each with a line end.
    fn lines(&mut self, lines: Option<String>) {
        let Some(lines) = lines else { return };
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(&lines);
    }

    /// Drops the line end of a dropped option.
    fn drop_line_end(&mut self) {
        if self.text.ends_with('\n') && self.chosen.as_bytes().get(self.done) == Some(&b'\n') {
            self.done += 1;
        }
    }
}

/// The options, with one settings line: packetdrill takes the last of several.
fn header(script: &Script) -> Result<String, ScriptError> {
    let (mut flags, mut others) = (Vec::new(), Vec::new());
    let mut version = "ipv4";
    let mut tolerance = TOLERANCE_US;
    for option in &script.options {
        let ScriptOption { name, value, span } = option;
        match name.as_str() {
            "so_flags" => flags.push(value.clone()),
            // In packetdrill it is the MTU of the interface, which the shared object lacks.
            "mtu" => flags.push(format!("mtu={value}")),
            "ip_version" => version = value,
            "tolerance_usecs" => tolerance = value.parse().unwrap_or(0).max(TOLERANCE_US),
            kept if PASSED_THROUGH.contains(&kept) => {
                others.push(format!("--{kept}={}\n", quoted(value)));
            }
            _ => {}
        }
        if value.contains(['"', '\n']) {
            return Err(script.error(span.clone(), "this value cannot be quoted"));
        }
    }
    let mut made = false;
    for event in &script.events {
        match &event.action {
            Action::Call(call) => made |= call.syscall == Syscall::Socket,
            Action::Command(text) => {
                let (settings, _) = command::read(text);
                if made && !settings.is_empty() {
                    let message =
                        "a sysctl after the first socket changes nothing in the shared object";
                    let error = script.error(event.span.clone(), message);
                    return Err(error.help("write it before, or as a word of --so_flags"));
                }
                flags.extend(settings.iter().map(|s| format!("{}={}", s.switch, s.value)));
            }
            _ => {}
        }
    }
    let settings = match flags.join(" ") {
        none if none.is_empty() => none,
        some => format!("--so_flags=\"{some}\"\n"),
    };
    let others = others.concat();
    Ok(format!("--ip_version={version}\n{settings}--tolerance_usecs={tolerance}\n{others}"))
}

/// Quotes a value that is not a whole number: packetdrill rejects an unquoted fraction.
fn quoted(value: &str) -> String {
    let whole = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
    if whole { value.to_string() } else { format!("\"{value}\"") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stock(text: &str) -> Result<String, ScriptError> {
        Script::parse("x", text).unwrap().for_stock()
    }

    const HEADER: &str = "--ip_version=ipv4\n--tolerance_usecs=4000\n";

    #[test]
    fn assertions_and_commands_keep_their_time_and_lose_their_effect() {
        let text = "// RFC 9293 §3.5\n--tolerance_usecs=0\n--verbose\n\
                    `sysctl -w net.ipv4.tcp_ecn=1`\n\
                    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
                    +1 assert state == CLOSED // so\n\
                    +0 %{ assert tcpi_snd_cwnd == 10\n }%\n\
                    +0 close(3) = 0 (remark)";
        assert_eq!(
            stock(text).unwrap(),
            "// RFC 9293 §3.5\n--ip_version=ipv4\n--so_flags=\"ecn=1\"\n--tolerance_usecs=4000\n\
             +0 `true`\n\
             0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
             +1 `true` // so\n\
             +0 `true`\n\
             +0 close(3) = 0\n"
        );
    }

    #[test]
    fn settings_are_one_line_and_directives_are_gone() {
        let text = "--so_flags=\"ts=0\"\n--mtu=9000\n--tolerance_percent=2.5\n--so_flags=\"iw=4\"\n\
                    #ifdef STANDARD\n+.1 listen(3, 1) = -1 EBADF\n#endif\n/* a **/\n";
        let error = stock(text).unwrap_err();
        assert!(error.message.contains("3 is not open"), "{}", error.message);
        let text = text.replace("listen(3, 1) = -1 EBADF", "socket(..., SOCK_STREAM, 0) = 3");
        let out = stock(&text).unwrap();
        let lines: Vec<&str> = out.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        assert_eq!(
            lines,
            [
                "--ip_version=ipv4",
                "--so_flags=\"ts=0 mtu=9000 iw=4\"",
                "--tolerance_usecs=4000",
                "--tolerance_percent=\"2.5\"",
                "0 `true`",
                "+.1 socket(..., SOCK_STREAM, 0) = 3",
                "/* a * */"
            ]
        );
    }

    #[test]
    fn packets_and_errors_follow_the_stock_grammar() {
        let text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
                    +0 listen(3, 1) = 0\n\
                    < R. 1:1(0) ack 1 <nop,nop,nop,nop> urg 7\n\
                    +0 > .EP 1:1(0) ack 1\n\
                    +0 < [ect01] . 1:1(0) ack 1 win 9\n\
                    +0 accept(3, ..., ...) = -1 EAGAIN\n";
        let open = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 listen(3, 1) = 0\n";
        assert_eq!(
            stock(text).unwrap(),
            format!(
                "{HEADER}{open}+0 < R. 1:1(0) ack 1 win 0 urg 7 <nop,nop,nop,nop>\n\
                 +0 > PE. 1:1(0) ack 1\n\
                 +0 < [ect0] . 1:1(0) ack 1 win 9\n\
                 +0 accept(3, ..., ...) = -1 EAGAIN (Resource temporarily unavailable)\n"
            )
        );
    }

    #[test]
    fn constructs_missing_in_packetdrill_are_refused_with_their_line() {
        let socket = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n";
        for (line, says) in [
            ("0...1 read(3, ..., 1) = 1", "blocks"),
            ("+0 < . 1:1(0) ack 1 win 1 <DX>", "no TCP option `DX`"),
            ("+0 < . 1:1(0) ack 1 win 1 <raw 01010101>", "no TCP option `raw 01010101`"),
            ("+0 < . 4294967295:1(2) ack 1 win 1", "does not wrap"),
            ("+0 read(3, ..., 1) = ...", "needs a number"),
            ("+0 getsockopt(3, SOL_SOCKET, SO_ERROR, ..., [4]) = 0", "a value"),
            ("+0 getsockopt(3, SOL_SOCKET, SO_ERROR, [0], 4) = 0", "[4]"),
            ("+0 shutdown(4, SHUT_WR) = 0", "4 is not open"),
            ("+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3", "3 is open already"),
            ("+0 fcntl(3) = 0", "2 to 3 arguments"),
            ("`sysctl net.ipv4.tcp_ecn=0`", "after the first socket"),
        ] {
            let error = stock(&format!("{socket}{line}\n")).unwrap_err();
            assert!(error.message.contains(says), "{line}: {}", error.message);
            assert_eq!(error.line(), 2, "{line}");
        }
        let stray = stock("0 > R 1:1(0)\n").unwrap_err();
        assert!(stray.message.contains("no socket"), "{}", stray.message);
        let empty = stock("--so_flags=\"ts=0\"\n").unwrap_err();
        assert!(empty.message.contains("without an event"), "{}", empty.message);
    }
}
