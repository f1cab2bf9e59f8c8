//! One packet as text, after packetdrill:
//!
//! ```text
//! [ce] P. 1:1001(1000) ack 1 win 100 <mss 1000,sackOK,wscale 7,TS val 3 ecr 4,sack 1:2 5:6>
//! ```
//!
//! The flags are `S F R P . U E W A`, `-` for none. Sequence numbers and timestamps are relative to
//! the [`Origin`]; `win` is the field of the header. In an expected packet omitted fields are not
//! compared, except options: without `<...>` only timestamps are allowed.

use std::fmt;

use lowtide_wire::{Ecn, Flags, Options, Segment, SeqNum, Timestamps};

use super::Origin;

/// Base of the relative numbers: sequence numbers of the sender, acknowledgements of the receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeqBase {
    seq: SeqNum,
    ack: SeqNum,
    ts_value: u32,
    ts_echo: u32,
}

impl SeqBase {
    /// Packets of the side under test.
    pub(crate) fn outgoing(o: &Origin) -> Self {
        Self { seq: o.isn, ack: o.irs, ts_value: o.ts_local, ts_echo: o.ts_remote }
    }
    /// Packets of its peer.
    pub(crate) fn incoming(o: &Origin) -> Self {
        Self { seq: o.irs, ack: o.isn, ts_value: o.ts_remote, ts_echo: o.ts_local }
    }
}

/// Options with relative numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Opts {
    pub(crate) mss: Option<u16>,
    pub(crate) sack_ok: bool,
    pub(crate) wscale: Option<u8>,
    /// TSval and TSecr.
    pub(crate) ts: Option<(i64, i64)>,
    pub(crate) sack: Vec<(i64, i64)>,
    /// `<nots>`: no timestamps, where they would be added by default.
    pub(crate) no_ts: bool,
}

/// A packet with relative numbers; `None` fields were not written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Packet {
    pub(crate) ecn: Option<Ecn>,
    pub(crate) flags: Flags,
    pub(crate) seq: i64,
    pub(crate) len: u32,
    pub(crate) ack: Option<i64>,
    pub(crate) win: Option<u16>,
    pub(crate) opts: Option<Opts>,
}

const LETTERS: [(char, Flags); 9] = [
    ('S', Flags::SYN),
    ('F', Flags::FIN),
    ('R', Flags::RST),
    ('P', Flags::PSH),
    ('.', Flags::ACK),
    ('U', Flags::URG),
    ('E', Flags::ECE),
    ('W', Flags::CWR),
    ('A', Flags::AE),
];

const CODEPOINTS: [(&str, Ecn); 4] =
    [("noecn", Ecn::NotEct), ("ect1", Ecn::Ect1), ("ect0", Ecn::Ect0), ("ce", Ecn::Ce)];

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.trim().parse().unwrap_or_else(|_| panic!("not a number: {text:?}"))
}

fn range(text: &str) -> (i64, i64) {
    let (a, b) = text.split_once(':').unwrap_or_else(|| panic!("not a range a:b: {text:?}"));
    (number(a), number(b))
}

impl Packet {
    /// Parses the notation; panics with the reason.
    pub(crate) fn parse(text: &str) -> Self {
        let (text, opts) = match text.split_once('<') {
            Some((head, rest)) => {
                let inner = rest.trim().strip_suffix('>').expect("options end with >");
                (head, Some(Opts::parse(inner)))
            }
            None => (text, None),
        };
        let mut words = text.split_whitespace().peekable();
        let ecn = words.next_if(|w| w.starts_with('[')).map(|w| {
            let name = w.trim_matches(['[', ']']);
            let found = CODEPOINTS.iter().find(|(n, _)| *n == name);
            found.unwrap_or_else(|| panic!("no ECN codepoint {name:?}")).1
        });
        let flags = words.next().expect("flags").chars().fold(Flags::NONE, |all, c| {
            let found = LETTERS.iter().find(|(l, _)| *l == c).map(|(_, f)| *f);
            all | found.unwrap_or_else(|| {
                assert!(c == '-', "no flag {c:?} in {text:?}");
                Flags::NONE
            })
        });
        let place = words.next().unwrap_or_else(|| panic!("no sequence numbers in {text:?}"));
        let (numbers, len) = place.split_once('(').expect("seq:end(len)");
        let (seq, end) = range(numbers);
        let len: u32 = number(len.trim_end_matches(')'));
        assert_eq!(seq + i64::from(len), end, "length does not fit in {text:?}");
        let mut packet = Self { ecn, flags, seq, len, ack: None, win: None, opts };
        while let Some(word) = words.next() {
            let value = words.next().unwrap_or_else(|| panic!("{word:?} without a value"));
            match word {
                "ack" => packet.ack = Some(number(value)),
                "win" => packet.win = Some(number(value)),
                _ => panic!("unknown word {word:?} in {text:?}"),
            }
        }
        assert_eq!(packet.ack.is_some(), flags.contains(Flags::ACK), "ack and flag in {text:?}");
        packet
    }

    /// The segment passed to the connection, with `window` if none is written.
    pub(crate) fn to_segment(&self, frame: &SeqBase, window: u16) -> Segment {
        let at = |base: SeqNum, n: i64| base.add(n as u64);
        let opts = self.opts.clone().unwrap_or_default();
        let mut options = Options {
            mss: opts.mss,
            window_scale: opts.wscale,
            sack_permitted: opts.sack_ok,
            timestamps: opts.ts.map(|(value, echo)| Timestamps {
                value: frame.ts_value.wrapping_add(value as u32),
                echo: frame.ts_echo.wrapping_add(echo as u32),
            }),
            ..Options::default()
        };
        for (a, b) in opts.sack {
            assert!(options.sack.push(at(frame.ack, a), at(frame.ack, b)), "too many blocks");
        }
        Segment {
            seq: at(frame.seq, self.seq),
            ack: self.ack.map_or(SeqNum::new(0), |n| at(frame.ack, n)),
            flags: self.flags,
            window: self.win.unwrap_or(window),
            ecn: self.ecn.unwrap_or_default(),
            payload_len: self.len,
            options,
            ..Segment::default()
        }
    }

    /// A segment in relative numbers, with all fields.
    pub(crate) fn from_segment(seg: &Segment, frame: &SeqBase) -> Self {
        let rel = |base: SeqNum, n: SeqNum| i64::from(n.diff(base));
        let acks = seg.flags.contains(Flags::ACK);
        let o = &seg.options;
        let opts = Opts {
            mss: o.mss,
            sack_ok: o.sack_permitted,
            wscale: o.window_scale,
            ts: o.timestamps.map(|t| {
                let ago = |base: u32, n: u32| i64::from(n.wrapping_sub(base).cast_signed());
                // Without ACK there is nothing to echo: the field is zero.
                let echo = if acks { ago(frame.ts_echo, t.echo) } else { i64::from(t.echo) };
                (ago(frame.ts_value, t.value), echo)
            }),
            sack: {
                let blocks = o.sack.as_slice().iter();
                blocks.map(|(a, b)| (rel(frame.ack, *a), rel(frame.ack, *b))).collect()
            },
            no_ts: false,
        };
        Self {
            ecn: Some(seg.ecn),
            flags: seg.flags,
            seq: rel(frame.seq, seg.seq),
            len: seg.payload_len,
            ack: acks.then(|| rel(frame.ack, seg.ack)),
            win: Some(seg.window),
            opts: Some(opts),
        }
    }

    /// True if `got` matches this expectation.
    pub(crate) fn matches(&self, got: &Self) -> bool {
        let same_ecn = self.ecn.is_none() || self.ecn == got.ecn;
        let same_window = self.win.is_none() || self.win == got.win;
        let full = got.opts.clone().unwrap_or_default();
        let same_options = match &self.opts {
            Some(opts) if opts.no_ts => full == Opts { no_ts: false, ..opts.clone() },
            // Written options without TS ignore the timestamps.
            Some(opts) if opts.ts.is_none() => Opts { ts: None, ..full } == *opts,
            Some(opts) => full == *opts,
            None => Opts { ts: None, ..full } == Opts::default(),
        };
        same_ecn
            && same_window
            && same_options
            && (self.flags, self.seq, self.len, self.ack) == (got.flags, got.seq, got.len, got.ack)
    }
}

impl Opts {
    fn parse(text: &str) -> Self {
        let mut opts = Self::default();
        for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let words: Vec<&str> = part.split_whitespace().collect();
            match words.as_slice() {
                ["mss", n] => opts.mss = Some(number(n)),
                ["sackOK"] => opts.sack_ok = true,
                ["wscale", n] => opts.wscale = Some(number(n)),
                ["TS", "val", v, "ecr", e] => opts.ts = Some((number(v), number(e))),
                ["sack", blocks @ ..] => opts.sack = blocks.iter().map(|b| range(b)).collect(),
                ["nots"] => opts.no_ts = true,
                _ => panic!("unknown option {part:?}"),
            }
        }
        opts
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ecn) = self.ecn {
            let name = CODEPOINTS.iter().find(|(_, e)| *e == ecn).map_or("?", |(n, _)| n);
            write!(f, "[{name}] ")?;
        }
        let flags: String =
            LETTERS.iter().filter(|(_, b)| self.flags.contains(*b)).map(|(l, _)| *l).collect();
        let flags = if flags.is_empty() { "-" } else { &flags };
        write!(f, "{flags} {}:{}({})", self.seq, self.seq + i64::from(self.len), self.len)?;
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        if let Some(win) = self.win {
            write!(f, " win {win}")?;
        }
        let Some(o) = &self.opts else { return Ok(()) };
        let mut parts = Vec::new();
        parts.extend(o.mss.map(|n| format!("mss {n}")));
        parts.extend(o.sack_ok.then(|| "sackOK".to_owned()));
        parts.extend(o.wscale.map(|n| format!("wscale {n}")));
        parts.extend(o.ts.map(|(v, e)| format!("TS val {v} ecr {e}")));
        if !o.sack.is_empty() {
            let blocks: Vec<String> = o.sack.iter().map(|(a, b)| format!("{a}:{b}")).collect();
            parts.push(format!("sack {}", blocks.join(" ")));
        }
        parts.extend(o.no_ts.then(|| "nots".to_owned()));
        if parts.is_empty() { Ok(()) } else { write!(f, " <{}>", parts.join(",")) }
    }
}
