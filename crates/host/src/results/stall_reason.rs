//! The reason why a flow did not complete.

use lowtide_rows::StallReason;
use lowtide_tcp::LimitedBy;
use lowtide_units::Instant;

use super::sender_summary::SenderSummary;

/// Classifies an established sender as of `now`.
pub(crate) fn of_sender(now: Instant, sender: &SenderSummary) -> StallReason {
    let quiet = now.saturating_since(sender.last_progress);
    let waits = sender.srtt.is_some_and(|srtt| quiet > srtt.saturating_mul(2));
    let stuck = sender.has_data_in_flight && waits;
    match sender.limited_by {
        _ if sender.after_rto => StallReason::Rto,
        LimitedBy::ReceiveWindow if sender.zero_window => StallReason::ZeroWindow,
        LimitedBy::ReceiveWindow => StallReason::ReceiveWindow,
        _ if stuck => StallReason::Rto,
        LimitedBy::Application if !sender.has_data_in_flight => StallReason::Application,
        _ => StallReason::Sending,
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::Arc;

    use lowtide_tcp::{Config, Endpoint, Info};
    use lowtide_units::Duration;

    use super::*;

    #[test]
    fn a_sender_says_what_it_waits_for() {
        let host = |n| Ipv4Addr::new(10, 0, 0, n).into();
        let mut endpoint = Endpoint::new(1);
        let config = Arc::new(Config::default());
        let id = endpoint.connect(Instant::ZERO, host(1), 0, host(2), 5001, config).unwrap();
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);
        // It sent at 10 ms; the RTT is 2 ms.
        let mut sending = endpoint.conn(id).unwrap().info();
        sending.srtt = Some(Duration::from_ms(2));
        sending.last_progress = at(10);
        (sending.in_flight, sending.snd_wnd) = (3_000, 60_000);
        sending.limited_by = LimitedBy::Cwnd;
        let of = |ms, info| of_sender(at(ms), &SenderSummary::from(&info));
        assert_eq!(of(14, sending), StallReason::Sending);
        assert_eq!(of(15, sending), StallReason::Rto, "it waits for the timer");
        let with = |mut info: Info, change: fn(&mut Info)| {
            change(&mut info);
            info
        };
        assert_eq!(of(11, with(sending, |i| i.after_rto = true)), StallReason::Rto);
        let window = with(sending, |i| {
            (i.limited_by, i.in_flight) = (LimitedBy::ReceiveWindow, 0);
        });
        assert_eq!(of(99, window), StallReason::ReceiveWindow);
        let outstanding = with(window, |i| i.in_flight = 1);
        assert_eq!(of(99, outstanding), StallReason::ReceiveWindow, "a delayed ACK");
        assert_eq!(of(99, with(window, |i| i.snd_wnd = 0)), StallReason::ZeroWindow);
        let idle = with(window, |i| i.limited_by = LimitedBy::Application);
        assert_eq!(of(99, idle), StallReason::Application);
        assert_eq!(of(11, with(idle, |i| i.in_flight = 1)), StallReason::Sending);
    }
}
