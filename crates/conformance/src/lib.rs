//! The conformance kit: checks that a congestion control behaves as it declares.
//!
//! Contract: [`check`] drives one registered control with synthetic ACK streams and events and
//! returns every rule that it breaks. The tests of this crate run it on all built-in controls; a
//! control in another crate is checked likewise, with `assert_eq!(check(&ENTRY), [])`. Rules broken
//! on purpose are listed with their source in
//! [`DeclaredProperties::exemptions`](lowtide_tcp::cc::DeclaredProperties). An exemption whose rule is
//! not broken is itself a violation. Arithmetic overflow panics only in builds with overflow
//! checks, so run the kit in such a build (the default of `cargo test`).

mod bounds;
mod events;
mod flow;
mod growth;
mod rates;
mod reaction;

use std::fmt;

use lowtide_schema::Values;
use lowtide_tcp::cc::CcEntry;

/// One rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Name, as used in exemptions.
    pub name: &'static str,
    /// The requirement.
    pub requirement: &'static str,
    /// Its specification.
    pub source: &'static str,
    /// The controls that it applies to.
    applies: Applies,
    check: fn(Subject<'_>) -> RuleFailure,
}

/// Whether rules apply to rate-based controls
/// ([`DeclaredProperties::rate_based`](lowtide_tcp::cc::DeclaredProperties)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Applies {
    /// Rules of windows, which such a control does not follow.
    Windows,
    /// Rules of rates.
    Rates,
    All,
}

/// The control under test and its parameters.
#[derive(Clone, Copy)]
struct Subject<'a> {
    entry: &'a CcEntry,
    values: &'a Values,
}

/// A description of the failure, or none if the rule holds.
type RuleFailure = Option<String>;

/// One broken rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Name of the rule, `exemption` or `parameters`.
    pub rule: &'static str,
    /// Description of the failure.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.detail)
    }
}

/// All rules.
pub static RULES: &[Rule] = &[
    rule(
        Applies::Windows,
        "no-shrink",
        "without any congestion signal the window does not shrink",
        "RFC 5681 §3.1",
        growth::no_shrink,
    ),
    rule(
        Applies::Windows,
        "frozen",
        "the window does not grow on an ACK with `may_grow` unset",
        "RFC 5681 §3.2, RFC 7661 §4.2, RFC 3168 §6.1.2",
        growth::frozen,
    ),
    rule(
        Applies::Windows,
        "slow-start",
        "slow start counts at most L bytes of an ACK, one segment after a timeout, and grows",
        "RFC 3465 §2.2, §2.3",
        growth::slow_start,
    ),
    rule(
        Applies::Windows,
        "additive-increase",
        "congestion avoidance adds one segment per round trip",
        "RFC 5681 §3.1",
        growth::additive_increase,
    ),
    rule(
        Applies::Windows,
        "signals",
        "it reacts to the signals that it declares, and to no other",
        "its own declaration",
        reaction::signals,
    ),
    rule(
        Applies::Windows,
        "one-cut",
        "a marked ACK does not cut the window unless the cut rule allows it",
        "RFC 3168 §6.1.2, RFC 8257 §3.3",
        reaction::one_cut,
    ),
    rule(
        Applies::Windows,
        "clean-ack",
        "an ACK without a mark does not cut the window, regardless of earlier marks",
        "RFC 3168 §6.1.2, RFC 8257 §3.3",
        reaction::clean_ack,
    ),
    rule(
        Applies::Windows,
        "cut-or-grow",
        "an ACK that cuts the window does not also grow it",
        "RFC 3168 §6.1.2, RFC 8257 §3.4",
        reaction::cut_or_grow,
    ),
    rule(
        Applies::Windows,
        "reports-cuts",
        "a window that shrinks on an ACK is reported as a reduction",
        "RFC 3168 §6.1.2: CWR follows each reduction",
        reaction::reports_cuts,
    ),
    rule(
        Applies::Windows,
        "ecn-halves",
        "a mark halves the window, unless the control declares a proportional cut",
        "RFC 3168 §6.1.2",
        reaction::ecn_halves,
    ),
    rule(
        Applies::Windows,
        "proportional",
        "a proportional cut is half with all data marked, a quarter at half, nearly none at rare marks",
        "RFC 8257 §3.3",
        reaction::proportional,
    ),
    rule(
        Applies::All,
        "no-ecn",
        "without ECN negotiated the control ignores marks",
        "RFC 3168 §6.1.1",
        reaction::no_ecn,
    ),
    rule(
        Applies::Windows,
        "loss-halves",
        "a loss sets ssthresh to half of the bytes in flight, even if marks were rare before",
        "RFC 5681 §3.1 eq. 4, RFC 8257 §3.5",
        events::loss_halves,
    ),
    rule(
        Applies::Windows,
        "one-reduction",
        "a mark and a loss in one window of data reduce as the loss alone",
        "RFC 3168 §6.1.2",
        events::one_reduction,
    ),
    rule(
        Applies::Windows,
        "recovered-burst",
        "the end of recovery leaves at most the bytes in flight plus one segment",
        "RFC 6582 §3.2 step 3 (1)",
        events::recovered_burst,
    ),
    rule(
        Applies::Windows,
        "rto",
        "a timeout leaves one segment, and only the first one for the same data lowers ssthresh",
        "RFC 5681 §3.1",
        events::rto,
    ),
    rule(
        Applies::Windows,
        "idle-restart",
        "after idle the window is at most the initial one, never larger, and ssthresh is unchanged",
        "RFC 5681 §4.1",
        events::idle_restart,
    ),
    rule(
        Applies::Windows,
        "undo",
        "undo restores the state before the last loss reaction, once",
        "RFC 4015 §3.2, RFC 3522",
        events::undo,
    ),
    rule(
        Applies::All,
        "floor",
        "no reaction except a timeout reduces the window or ssthresh below the declared floor",
        "RFC 5681 §3.1 eq. 4, RFC 3168 §6.1.2",
        bounds::floor,
    ),
    rule(
        Applies::All,
        "limits",
        "the largest numbers neither overflow nor wrap",
        "the boundary of `lowtide-tcp`",
        bounds::limits,
    ),
    rule(
        Applies::All,
        "deterministic",
        "two instances with equal input behave equally",
        "the contract of `lowtide-tcp`",
        bounds::deterministic,
    ),
    rule(
        Applies::Rates,
        "fills-the-line",
        "on a line of 34.75 Mbit/s with an RTT of 40 ms it paces, and after 2 s takes 90 %",
        "draft-cardwell-iccrg-bbr-congestion-control-00 §3.2",
        rates::fills_the_line,
    ),
    rule(
        Applies::Rates,
        "bounds-the-flight",
        "there at most 4 BDP are in flight in the first 2 s, and 3 then, with a queue without end",
        "draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.3",
        rates::bounds_the_flight,
    ),
    rule(
        Applies::Rates,
        "follows-the-line",
        "4 s after the line fell to half at most 3 of its BDP are in flight",
        "draft-cardwell-iccrg-bbr-congestion-control-00 §4.1.1.6",
        |subject| rates::follows_the_line(subject, 4),
    ),
    rule(
        Applies::Rates,
        "follows-the-line-in-two-probes",
        "8 s after the line fell to half at most 3 of its BDP are in flight",
        "draft-ietf-ccwg-bbr-06: a filter of two probes, up to 3 s apart",
        |subject| rates::follows_the_line(subject, 8),
    ),
    rule(
        Applies::Rates,
        "app-limited",
        "4 s of app-limited samples (1.16 Mbit/s) leave a rate that takes half of the line at once",
        "draft-cheng-iccrg-delivery-rate-estimation-02 §3.4",
        rates::app_limited,
    ),
];

const fn rule(
    applies: Applies,
    name: &'static str,
    requirement: &'static str,
    source: &'static str,
    check: fn(Subject<'_>) -> RuleFailure,
) -> Rule {
    Rule { name, requirement, source, applies, check }
}

/// Returns every rule that `entry` breaks without an exemption and every unneeded exemption, with
/// all parameters at their defaults.
pub fn check(entry: &CcEntry) -> Vec<Violation> {
    check_with(entry, &[])
}

/// As [`check`], with parameters as users write them.
pub fn check_with(entry: &CcEntry, given: &[(&str, &str)]) -> Vec<Violation> {
    let values = match Values::parse(entry.params, given) {
        Ok(values) => values,
        Err(error) => return [Violation { rule: PARAMETERS, detail: error.to_string() }].into(),
    };
    let subject = Subject { entry, values: &values };
    let exempt = |name| entry.declared.exemptions.iter().find(|e| e.rule == name);
    let mut out = Vec::new();
    let kind = if entry.declared.rate_based { Applies::Rates } else { Applies::Windows };
    for rule in RULES.iter().filter(|rule| [kind, Applies::All].contains(&rule.applies)) {
        match ((rule.check)(subject), exempt(rule.name)) {
            (Some(detail), None) => out.push(Violation { rule: rule.name, detail }),
            (None, Some(_)) => out.push(Violation {
                rule: EXEMPTION,
                detail: format!(
                    "it is exempt from `{}` but follows it; remove the exemption",
                    rule.name
                ),
            }),
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
    for e in entry.declared.exemptions {
        if RULES.iter().all(|rule| rule.name != e.rule) {
            let detail = format!("there is no rule `{}`", e.rule);
            out.push(Violation { rule: EXEMPTION, detail });
        }
        if e.source.is_empty() {
            let detail = format!("the exemption from `{}` has no source", e.rule);
            out.push(Violation { rule: EXEMPTION, detail });
        }
    }
    out
}

const EXEMPTION: &str = "exemption";
const PARAMETERS: &str = "parameters";
