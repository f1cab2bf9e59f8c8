//! A script as stock packetdrill takes it.

use super::{Action, Script, ScriptError};

/// packetdrill's default, in microseconds. Its clock moves while it looks at it, so exact times cannot
/// be asked of it.
const TOLERANCE_US: u64 = 4000;

pub(super) fn text(script: &Script) -> Result<String, ScriptError> {
    let mut out = String::with_capacity(script.text.len());
    let mut done = 0;
    let mut copy = |out: &mut String, upto: usize, then: usize, instead: &str| {
        out.push_str(script.text.get(done..upto).unwrap_or(""));
        out.push_str(instead);
        done = then;
    };
    for option in script.options.iter().filter(|o| o.name == "tolerance_usecs") {
        if option.value.parse().is_ok_and(|us: u64| us < TOLERANCE_US) {
            let instead = format!("--tolerance_usecs={TOLERANCE_US}");
            copy(&mut out, option.span.start, option.span.end, &instead);
        }
    }
    for event in &script.events {
        if event.until.is_some() {
            let message = "a call that blocks cannot run over the shared object";
            return Err(script.error(event.span.clone(), message));
        }
        if matches!(event.action, Action::Assert(_) | Action::Command(_)) {
            copy(&mut out, event.action_at, event.span.end, "`true`");
        }
    }
    out.push_str(script.text.get(done..).unwrap_or(""));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assertions_and_commands_keep_their_time_and_lose_their_effect() {
        let text = "// RFC 9293 §3.5\n--tolerance_usecs=0\n\
                    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
                    +1 assert state == CLOSED // so\n\
                    `sysctl -w net.ipv4.tcp_ecn=1`\n\
                    +0 %{ assert tcpi_snd_cwnd == 10\n }%\n\
                    +0 close(3) = 0\n";
        let stock = Script::parse("x", text).unwrap().for_stock().unwrap();
        assert_eq!(
            stock,
            "// RFC 9293 §3.5\n--tolerance_usecs=4000\n\
             0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
             +1 `true` // so\n\
             `true`\n\
             +0 `true`\n\
             +0 close(3) = 0\n"
        );
    }

    #[test]
    fn a_call_that_blocks_is_refused() {
        let text = "0...1 read(3, ..., 1) = 1\n";
        let error = Script::parse("x", text).unwrap().for_stock().unwrap_err();
        assert!(error.message.contains("blocks") && error.line() == 1);
    }
}
