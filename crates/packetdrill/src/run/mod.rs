//! The interpreter: runs a script against a host.
//!
//! Contract: on our TCP the same script and settings give the same report, to the picosecond. Time
//! moves from event to event. Every packet must match a line; a late, early, different or unmatched
//! packet fails the script. A packet is early if it left more than the tolerance before a preceding
//! event of the script.

mod asserts;
mod calls;
mod compare;
mod inbound;
mod notation;
mod observed;
mod peer;
mod report;
mod setup;

use lowtide_units::{Duration, Instant};
use lowtide_wire::Flags;

use crate::fields;
use crate::host::{Host, SentPacket};
use crate::script::{Action, EventTime, PacketSpec, Script, ScriptError, ScriptEvent, TcpOption};
use crate::stack::Stack;
use calls::{BlockedCall, DescriptorTable};
use notation::Notation;
use observed::ObservedPacket;
use peer::{Peer, tuple_of};
use report::{ExecError, seconds};
pub use report::{Note, ScriptFailure, ScriptReport};
pub use setup::Setup;

/// Maximum wait for a packet without a time (`*`).
const MAX_PACKET_WAIT: Duration = Duration::from_secs(75);

/// Settings that the caller adds to a script.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// A settings string that overrides the script's own (see [`crate::so_flags`]).
    pub so_flags: Option<String>,
    /// A profile that replaces that of each script, whose congestion control stays. Settings that a
    /// Linux kernel cannot be told, and assertions on what it does not report, are left out.
    pub profile: Option<String>,
    /// Least tolerance, for a host in real time: 4 ms in packetdrill. Times are then compared as it
    /// does.
    pub tolerance: Option<Duration>,
}

/// Runs a script to its end or to its first failure.
///
/// # Errors
/// Errors in the script or the settings. A script that fails gives a [`ScriptReport`].
pub fn run(
    script: &Script,
    options: &RunOptions,
) -> std::result::Result<ScriptReport, ScriptError> {
    let setup = Setup::read(script, options)?;
    let mut stack = Stack::new(setup.so_flags.settings.clone());
    let mut report = run_on(script, setup, &mut stack)?;
    report.digest = stack.digest();
    Ok(report)
}

/// Runs a script on `host`, which was made by the same `setup`.
///
/// # Errors
/// As [`run`].
pub fn run_on(
    script: &Script,
    setup: Setup,
    host: &mut dyn Host,
) -> std::result::Result<ScriptReport, ScriptError> {
    let mut runner = Runner {
        script,
        host,
        peer: Peer::new(&setup),
        calls: DescriptorTable::default(),
        blocked: None,
        base: Instant::ZERO,
        last: None,
        report: ScriptReport::new(script, setup.notes.clone()),
        setup,
    };
    let failure = match runner.play() {
        Ok(()) => None,
        Err(ExecError::Failure(failure)) => Some(*failure),
        Err(ExecError::Script(error)) => return Err(*error),
    };
    runner.report.failure = failure;
    runner.report.ended = runner.host.now();
    Ok(runner.report)
}

struct Runner<'a> {
    script: &'a Script,
    setup: Setup,
    host: &'a mut dyn Host,
    peer: Peer,
    calls: DescriptorTable,
    blocked: Option<BlockedCall<'a>>,
    /// Origin of relative times: when the previous event was due, or its packet left.
    base: Instant,
    /// Scheduled time of the previous event.
    last: Option<Instant>,
    report: ScriptReport,
}

type Result<T> = std::result::Result<T, ExecError>;

impl<'a> Runner<'a> {
    fn play(&mut self) -> Result<()> {
        for event in &self.script.events {
            self.event(event)?;
            self.report.events += 1;
            if let Some(fault) = self.host.fault() {
                return Err(self.failure(event, fault).into());
            }
        }
        self.finish()
    }

    fn failure(&mut self, event: &ScriptEvent, message: impl Into<String>) -> ScriptFailure {
        ScriptFailure::new(self.script, &event.span, self.host.now(), message)
    }

    fn event(&mut self, event: &'a ScriptEvent) -> Result<()> {
        let base = self.base;
        let (from, to) = match event.when {
            EventTime::Absolute(at) => (Instant::ZERO + at, Instant::ZERO + at),
            EventTime::AbsoluteRange(a, b) => (Instant::ZERO + a, Instant::ZERO + b),
            EventTime::Relative(after) => (base + after, base + after),
            EventTime::RelativeRange(a, b) => (base + a, base + b),
            EventTime::Any => (Instant::ZERO, base + MAX_PACKET_WAIT),
        };
        let tolerance = self.tolerance(from);
        self.last = Some(if event.when == EventTime::Any { base } else { from });
        if let Action::Packet(spec) = &event.action
            && !spec.inbound
        {
            return self.outbound(event, spec, from, to, tolerance);
        }
        self.advance_to_event(event, from, tolerance)?;
        self.base = self.host.now();
        match &event.action {
            Action::Packet(spec) => {
                let bytes = inbound::bytes(spec, &mut self.peer);
                let shown = Notation::inbound(spec);
                let now = self.host.now();
                self.report.trace(now, &shown);
                if let Err(error) = self.host.inject(&bytes) {
                    // The stack drops it, as a host would. Raw options mean that the script intends
                    // this.
                    let raw = |option: &TcpOption| matches!(option, TcpOption::Raw(_));
                    if !spec.options.iter().flatten().any(raw) {
                        let text = format!("the host drops this packet: {error}");
                        self.report.note(self.script, event.span.start, text);
                    }
                }
                self.poll_blocked()
            }
            Action::Call(call) => {
                let until = event.until.map(|until| match event.when {
                    EventTime::Absolute(_) => Instant::ZERO + until,
                    _ => base + until,
                });
                self.call(event, call, until)
            }
            Action::Command(command) => {
                let notes = self
                    .host
                    .command(command)
                    .map_err(|message| self.script.error(event.span.clone(), message))?;
                for note in notes {
                    self.report.note(self.script, event.span.start, note);
                }
                Ok(())
            }
            Action::Assert(comparisons) => {
                let slack = if self.setup.real_time { tolerance } else { Duration::ZERO };
                for comparison in comparisons {
                    let lacks = fields::LINUX_LACKS.contains(&comparison.left.name);
                    if lacks && self.setup.linux_fields {
                        let text = format!("left out: the field {}", comparison.left.name);
                        self.report.note(self.script, comparison.span.start, text);
                        continue;
                    }
                    asserts::check(self.script, self.host, &self.peer, comparison, slack)?;
                }
                Ok(())
            }
        }
    }

    /// Allowed deviation of an event at `at`: the larger of `--tolerance_usecs` and the configured
    /// share of the time since the previous event.
    fn tolerance(&self, at: Instant) -> Duration {
        let since = self.last.map_or(Duration::ZERO, |last| at.saturating_since(last));
        let share = u128::from(since.as_ps()) * u128::from(self.setup.tolerance_percent);
        let share = u64::try_from(share / 100_000_000).unwrap_or(u64::MAX);
        self.setup.tolerance.max(Duration::from_ps(share))
    }

    /// Advances the clock to an event that is not an outbound packet.
    fn advance_to_event(
        &mut self,
        event: &ScriptEvent,
        at: Instant,
        tolerance: Duration,
    ) -> Result<()> {
        let now = self.host.now();
        if at + tolerance < now {
            let message = format!(
                "this line is at {}, but the previous event lasted until {}",
                seconds(at),
                seconds(now)
            );
            return Err(self.failure(event, message).into());
        }
        self.advance(at)?;
        let early = self.host.peek_packet().filter(|p| p.at + tolerance < at).cloned();
        match early.filter(|_| self.setup.so_flags.strict) {
            Some(packet) => {
                Err(self.unexpected_packet(event, &packet, "was sent before this line").into())
            }
            None => Ok(()),
        }
    }

    /// Advances the clock, timer by timer while a call is blocked.
    fn advance(&mut self, to: Instant) -> Result<()> {
        while self.blocked.is_some() && self.host.step(to) && self.host.fault().is_none() {
            self.poll_blocked()?;
        }
        self.host.advance_to(to);
        Ok(())
    }

    /// In real time a line may state several segments, as a kernel with segmentation offload would
    /// show them. Adds the segments that follow `first` to it, up to the length of the line.
    fn with_following(
        &mut self,
        mut first: ObservedPacket,
        spec: &PacketSpec,
        limit: Instant,
    ) -> ObservedPacket {
        let one_packet = spec.len <= self.setup.so_flags.settings.config.mtu.saturating_sub(40);
        while self.setup.real_time && !one_packet && first.segment.payload_len < spec.len {
            if self.host.peek_packet().is_none() && !self.host.step(limit) {
                break;
            }
            let next = self.host.peek_packet().and_then(|p| ObservedPacket::read(&p.bytes).ok());
            let end = first.segment.seq.add(u64::from(first.segment.payload_len));
            match next.filter(|next| next.segment.seq == end && !next.payload.is_empty()) {
                Some(next) => first.append(next, spec.flags),
                None => break,
            }
            self.host.take_packet();
        }
        first
    }

    /// Drops packets of other connections, if the script lets unexpected packets pass.
    fn drop_foreign(&mut self) {
        let Some(own) = self.peer.tuple().filter(|_| !self.setup.so_flags.strict) else { return };
        while self.host.peek_packet().is_some_and(|packet| {
            ObservedPacket::read(&packet.bytes)
                .is_ok_and(|p| tuple_of(&p) != own && !p.segment.flags.contains(Flags::SYN))
        }) {
            self.host.take_packet();
        }
    }

    /// Waits for the packet that a line expects and compares it.
    fn outbound(
        &mut self,
        event: &ScriptEvent,
        spec: &PacketSpec,
        from: Instant,
        to: Instant,
        tolerance: Duration,
    ) -> Result<()> {
        let limit = to.max(self.host.now()) + tolerance;
        self.drop_foreign();
        while self.host.peek_packet().is_none()
            && self.host.step(limit)
            && self.host.fault().is_none()
        {
            self.poll_blocked()?;
            self.drop_foreign();
        }
        let Some(packet) = self.host.take_packet() else {
            let message = format!("no packet was sent until {}", seconds(limit));
            let mut failure = self.failure(event, message);
            failure.expected = Some(Notation::expected(spec));
            return Err(failure.into());
        };
        let observed = match ObservedPacket::read(&packet.bytes) {
            Ok(observed) => self.with_following(observed, spec, limit),
            Err(error) => {
                let message = format!("the host sent an invalid packet: {error}");
                return Err(self.failure(event, message).into());
            }
        };
        self.base = self.base.max(packet.at);
        self.peer.on_host_packet(&observed, Some(spec));
        let got = self.peer.in_script_numbers(&observed);
        self.report.trace(packet.at, &got.to_string());
        let mut differs = compare::differences(spec, &observed, &mut self.peer, &self.setup);
        if packet.at + tolerance < from {
            let early =
                format!("time: {}, expected not before {}", seconds(packet.at), seconds(from));
            differs.push(early);
        }
        if packet.at > to + tolerance {
            let late = format!("time: {}, expected until {}", seconds(packet.at), seconds(to));
            differs.push(late);
        }
        if differs.is_empty() {
            return Ok(());
        }
        let mut failure =
            ScriptFailure::new(self.script, &event.span, packet.at, "another packet was sent");
        failure.expected = Some(Notation::expected(spec));
        failure.got = Some(got.to_string());
        failure.differs = differs;
        Err(failure.into())
    }

    /// Reports a packet that matches no line.
    fn unexpected_packet(
        &mut self,
        event: &ScriptEvent,
        packet: &SentPacket,
        what: &str,
    ) -> ScriptFailure {
        let mut failure = self.failure(event, format!("a packet that no line expects {what}"));
        failure.at = packet.at;
        if let Ok(observed) = ObservedPacket::read(&packet.bytes) {
            self.peer.on_host_packet(&observed, None);
            failure.got = Some(self.peer.in_script_numbers(&observed).to_string());
        }
        failure
    }

    /// After the last line: blocked calls must return in time and no packet may be left.
    fn finish(&mut self) -> Result<()> {
        let Some(last) = self.script.events.last() else { return Ok(()) };
        if let Some(blocked) = &self.blocked {
            let until = blocked.until + self.setup.tolerance;
            self.advance(until)?;
            self.expire_blocked(true)?;
        }
        if let Some(packet) = self.host.take_packet().filter(|_| self.setup.so_flags.strict) {
            return Err(self.unexpected_packet(last, &packet, "was sent before the end").into());
        }
        Ok(())
    }
}
