//! Requests and answers between pairs: the next when the last is finished.
//!
//! ## What it does
//! Client `i` (the `i`-th of `from`) asks one server (the `i`-th of `to`, round robin, never itself),
//! gets an answer, thinks, and asks again. DCTCP §4.2.2 asks for 20 KB a thousand times over a standing
//! connection while two long flows keep the queue full.

use super::{Args, Ends, Entry, Refusal, Site, Traffic};
use crate::ask::{self, ANSWER, CONNECTIONS, DEADLINE, JITTER, QUERIES, REQUEST, THINK};
use crate::deal::{self, START};

/// Registration.
pub static ENTRY: Entry = Entry {
    name: "requests",
    summary: "clients that each ask one server, closed loop",
    ends: Ends::FromTo,
    params: &[ANSWER, REQUEST, QUERIES, THINK, START, CONNECTIONS, JITTER, DEADLINE],
    traffic,
};

fn traffic(args: &Args, site: &Site) -> Result<Traffic, Refusal> {
    ask::each(args, |i, client| {
        let server = deal::other(&args.destinations, i, client);
        let server = server.ok_or_else(|| deal::to_itself(args))?;
        let mut asker = ask::asker(args, client, vec![server]);
        asker.answers = ask::answers(args, site, i, "answer", &asker.asks)?;
        Ok(asker)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lowtide_units::{Bytes, Duration};

    use super::*;
    use crate::testing::{made, refused};
    use crate::workload::ParamValue;
    use crate::{Asks, Cdf};

    fn args() -> Args {
        Args {
            sources: vec![0, 1, 2],
            destinations: vec![8, 1],
            values: vec![
                ("answer", ParamValue::Distribution(Arc::new(Cdf::fixed(Bytes::new(20_000))))),
                ("request", ParamValue::Size(Some(Bytes::new(100)))),
                ("queries", ParamValue::Count(1_000)),
                ("think", ParamValue::Time(Duration::from_ms(1))),
                ("connections", ParamValue::Choice("standing")),
                ("deadline", ParamValue::Off),
            ],
            ..Args::default()
        }
    }

    #[test]
    fn each_client_has_a_server_of_its_own_and_none_asks_itself() {
        let askers = made(&ENTRY, &args()).askers;
        let pairs: Vec<_> = askers.iter().map(|a| (a.client, a.servers.clone())).collect();
        assert_eq!(pairs, [(0, vec![8]), (1, vec![8]), (2, vec![8])]);
        assert_eq!(askers[0].asks, Asks::Closed { queries: 1_000, pause: Duration::from_ms(1) });
        assert_eq!((askers[0].fan_out, askers[0].standing, askers[0].deadline), (1, true, None));
        assert_eq!(askers[0].answers, [Bytes::new(20_000)]);
        let alone = Args { sources: vec![3], destinations: vec![3], ..args() };
        assert_eq!(refused(&ENTRY, &alone).key, Some("to"));
    }

    #[test]
    fn drawn_answers_are_one_per_query_and_differ_by_client() {
        let mut args = args();
        let cdf = Cdf::named("web-search-1.6mb").unwrap();
        args.values[0].1 = ParamValue::Distribution(Arc::new(cdf));
        let askers = made(&ENTRY, &args).askers;
        assert_eq!(askers[0].answers.len(), 1_000);
        assert_ne!(askers[0].answers, askers[1].answers);
    }

    #[test]
    fn connections_of_their_own_for_ten_million_requests_are_refused() {
        let mut args = args();
        args.values[2].1 = ParamValue::Count(2_000_000);
        assert_eq!(made(&ENTRY, &args).connections(), 3);
        args.values[4].1 = ParamValue::Choice("fresh");
        let refusal = refused(&ENTRY, &args);
        assert!(refusal.message.contains("more than 4000000 connections"), "{refusal}");
    }
}
