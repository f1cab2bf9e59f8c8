//! Packets and calls in stock packetdrill's grammar.

use lowtide_wire::Flags;

use crate::script::call::SYSCALLS;
use crate::script::{Call, CallResult, EcnSpec, Expr, PacketSpec, Syscall, TcpOption};

type Result<T> = std::result::Result<T, String>;

/// Flags in packetdrill's order: the dot comes last.
const LETTERS: [(Flags, char); 9] = [
    (Flags::SYN, 'S'),
    (Flags::FIN, 'F'),
    (Flags::RST, 'R'),
    (Flags::PSH, 'P'),
    (Flags::URG, 'U'),
    (Flags::ECE, 'E'),
    (Flags::CWR, 'W'),
    (Flags::AE, 'A'),
    (Flags::ACK, '.'),
];

/// Prints `< [ce] P. 1:1001(1000) ack 1 win 257 urg 3 <nop,nop,TS val 1 ecr 2>` in this order.
pub(super) fn packet(spec: &PacketSpec) -> Result<String> {
    let mut parts = vec![String::from(if spec.inbound { "<" } else { ">" })];
    // `[ect01]` is valid for outbound packets only.
    let ecn = match (spec.ecn, spec.inbound) {
        (Some(EcnSpec::Either), true) => Some(EcnSpec::Ect0),
        (ecn, _) => ecn,
    };
    if let Some(ecn) = ecn {
        parts.push(format!("[{}]", ecn.text()));
    }
    let letters = LETTERS.iter().filter(|(flag, _)| spec.flags.contains(*flag));
    let flags: String = letters.map(|(_, letter)| letter).collect();
    parts.push(if flags.is_empty() { "-".to_string() } else { flags });
    let Some(end) = spec.seq.checked_add(spec.len) else {
        return Err(
            "a sequence number of stock packetdrill does not wrap within a line".to_string()
        );
    };
    parts.push(format!("{}:{end}({})", spec.seq, spec.len));
    if let Some(ack) = spec.ack {
        parts.push(format!("ack {ack}"));
    }
    // packetdrill needs it on every inbound packet, even an RST.
    if let Some(window) = spec.window.or(spec.inbound.then_some(0)) {
        parts.push(format!("win {window}"));
    }
    if spec.urgent != 0 {
        parts.push(format!("urg {}", spec.urgent));
    }
    let missing = spec.options.iter().flatten().find(|option| {
        matches!(
            option,
            TcpOption::DelayOffer
                | TcpOption::Delay(_)
                | TcpOption::Raw(_)
                | TcpOption::Unknown { .. }
        )
    });
    if let Some(option) = missing {
        return Err(format!("stock packetdrill has no TCP option `{option}`"));
    }
    match &spec.options {
        None => parts.push("<...>".to_string()),
        Some(options) if options.is_empty() => {}
        Some(options) => {
            let shown: Vec<String> = options.iter().map(ToString::to_string).collect();
            parts.push(format!("<{}>", shown.join(",")));
        }
    }
    Ok(parts.join(" "))
}

/// Number of arguments of each call.
const fn arguments(function: Syscall) -> std::ops::RangeInclusive<usize> {
    match function {
        Syscall::Close => 1..=1,
        Syscall::Listen | Syscall::Shutdown => 2..=2,
        Syscall::Fcntl => 2..=3,
        Syscall::Socket
        | Syscall::Bind
        | Syscall::Accept
        | Syscall::Connect
        | Syscall::Read
        | Syscall::Write
        | Syscall::Ioctl => 3..=3,
        Syscall::Recv | Syscall::Send => 4..=4,
        Syscall::GetSockOpt | Syscall::SetSockOpt => 5..=5,
        Syscall::SendTo => 6..=6,
    }
}

/// Prints `read(4, ..., 100) = -1 EAGAIN (Resource temporarily unavailable)`.
pub(super) fn call(call: &Call) -> Result<String> {
    let found = SYSCALLS.iter().find(|(_, function)| *function == call.syscall);
    let name = found.map_or("", |(name, _)| name);
    let wanted = arguments(call.syscall);
    if !wanted.contains(&call.args.len()) {
        let (least, most) = (wanted.start(), wanted.end());
        let count = if least == most { least.to_string() } else { format!("{least} to {most}") };
        return Err(format!("`{name}` of stock packetdrill takes {count} arguments"));
    }
    let mut shown = Vec::new();
    for (index, (expr, _)) in call.args.iter().enumerate() {
        fits(call.syscall, index, expr)
            .map_err(|wanted| format!("argument {} of `{name}` must be {wanted}", index + 1))?;
        shown.push(expression(expr)?);
    }
    let result = match &call.result {
        Some(CallResult::Value(n)) => n.to_string(),
        Some(CallResult::Error(None)) => "-1".to_string(),
        // packetdrill requires the remark.
        Some(CallResult::Error(Some(errno))) => format!("-1 {errno}"),
        None => return Err("a result of stock packetdrill needs a number".to_string()),
    };
    Ok(format!("{name}({}) = {result}", shown.join(", ")))
}

/// Required form of this argument, if the argument has another one.
fn fits(function: Syscall, index: usize, expr: &Expr) -> std::result::Result<(), &'static str> {
    let one_int = matches!(expr, Expr::List(items) if matches!(items.as_slice(), [Expr::Int(_)]));
    let (right, wanted) = match (function, index) {
        (Syscall::Bind | Syscall::Accept | Syscall::Connect, 1 | 2)
        | (Syscall::SendTo, 4 | 5)
        | (Syscall::Read | Syscall::Recv | Syscall::Write | Syscall::Send | Syscall::SendTo, 1) => {
            (*expr == Expr::Any, "`...` for stock packetdrill")
        }
        (Syscall::GetSockOpt | Syscall::SetSockOpt, 3) => {
            (*expr != Expr::Any, "a value for stock packetdrill")
        }
        (Syscall::GetSockOpt, 4) => (one_int, "a length in brackets, as [4]"),
        (Syscall::Ioctl, 2) => (one_int, "a number in brackets, as [1000]"),
        _ => return Ok(()),
    };
    if right { Ok(()) } else { Err(wanted) }
}

fn expression(expr: &Expr) -> Result<String> {
    Ok(match expr {
        Expr::Any => "...".to_string(),
        Expr::Int(n) => n.to_string(),
        Expr::Text(text) => format!("\"{text}\""),
        Expr::Names(names) => names.join("|"),
        Expr::List(items) => {
            let items: Result<Vec<String>> = items.iter().map(expression).collect();
            format!("[{}]", items?.join(", "))
        }
        Expr::Struct(fields) => {
            let field = |name: &str| {
                fields.iter().find_map(|(known, value)| match value {
                    Expr::Int(n) if known == name => Some(*n),
                    _ => None,
                })
            };
            match (field("onoff"), field("linger"), fields.len()) {
                (Some(on), Some(seconds), 2) => format!("{{onoff={on}, linger={seconds}}}"),
                _ => {
                    return Err(
                        "of the structures only {onoff=N, linger=N} is passed on".to_string()
                    );
                }
            }
        }
        Expr::Apply(name, _) => return Err(format!("`{name}` is not passed on")),
    })
}
