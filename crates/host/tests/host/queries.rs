//! Queries: times to the picosecond, closed and open loops, persistent connections and others.

use std::collections::BTreeSet;

use crate::common::{
    config, crossing, disturbance, flow, on_line, outcome, port, query_client, star_setup,
};
use lowtide_host::{Disturbance, Outcome, RunError, Setup, run};
use lowtide_net::{BufferSpec, Failure, PortSpec, QueueLength};
use lowtide_rows::{EndReason, FlowStatus, QueryRow, Role};
use lowtide_tcp::InitialWindow;
use lowtide_traffic::QuerySchedule;
use lowtide_units::{Bytes, Duration, Fraction, Instant};

/// SYN and SYN-ACK: IP, TCP, MSS, SACK permitted with timestamps, window scale.
const SYN: u64 = 40 + 4 + 12 + 4;
/// IP and TCP with timestamps.
const HEADERS: u64 = 52;

fn setup(servers: u32) -> Setup {
    star_setup(servers, &config("dctcp"), port(1_000, 500))
}

fn took(query: &QueryRow) -> Duration {
    Duration::from_ps(query.end_ps.expect("complete") - query.start_ps)
}

/// Returns an incast: `n` servers repeatedly send a megabyte in total to a port with room for 100
/// packets (DCTCP §4.2.1).
fn incast(scheme: &str, n: u32, queries: u32) -> Setup {
    let mut setup = star_setup(n, &config(scheme), port(100, 20));
    setup.query_clients = vec![query_client(&setup, queries, 1_000_000 / u64::from(n))];
    setup
}

#[test]
fn a_single_query_takes_exactly_the_delay_of_its_links() {
    let mut setup = setup(1);
    setup.query_clients = vec![query_client(&setup, 3, 1_000)];
    setup.query_clients[0].schedule =
        QuerySchedule::ClosedLoop { queries: 3, pause: Duration::from_ms(1) };
    let result = outcome(&setup);
    // The connection is opened with the first query; the request carries the handshake's ACK.
    let one = crossing(HEADERS + 200) + crossing(HEADERS + 1_000);
    let times: Vec<Duration> = result.queries.iter().map(took).collect();
    assert_eq!(times, [crossing(SYN) * 2 + one, one, one]);
    let first = &result.queries[0];
    assert_eq!((first.client.as_str(), first.group.as_str()), ("h1", "flows"));
    assert_eq!(first.qct_ps, Some(times[0].as_ps()));
    assert_eq!(
        (result.reason, result.ended.as_ps()),
        (EndReason::Done, result.queries[2].end_ps.unwrap())
    );
    // Ten segments are an initial window: they arrive back to back.
    setup.query_clients[0].response_sizes = vec![Bytes::new(14_480)];
    let train = crossing(HEADERS + 200) + crossing(1_500) + on_line(1_500) * 9;
    assert_eq!(took(&outcome(&setup).queries[2]), train);
}

#[test]
fn a_closed_loop_sends_the_next_query_a_pause_after_the_last_response() {
    let pause = Duration::from_us(70);
    let mut setup = setup(4);
    setup.query_clients = vec![query_client(&setup, 20, 30_000)];
    setup.query_clients[0].schedule = QuerySchedule::ClosedLoop { queries: 20, pause };
    setup.query_clients[0].deadline = Some(Duration::from_us(1_150));
    setup.warmup = Duration::from_ms(5);
    let result = outcome(&setup);
    assert_eq!(result.queries.len(), 20);
    for (i, pair) in result.queries.windows(2).enumerate() {
        assert_eq!(pair[1].start_ps, pair[0].end_ps.unwrap() + pause.as_ps(), "{i}");
        assert_eq!((pair[1].query, pair[1].answer_bytes), (i as u32 + 1, 120_000));
    }
    for query in &result.queries {
        assert_eq!(query.deadline_met, Some(took(query) <= Duration::from_us(1_150)));
        assert_eq!(query.in_warmup, query.start_ps < setup.warmup.as_ps());
    }
    let met = result.queries.iter().filter(|q| q.deadline_met == Some(true)).count();
    let early = result.queries.iter().filter(|q| q.in_warmup).count();
    assert!((1..20).contains(&met) && (1..20).contains(&early), "{met} {early}");
}

#[test]
fn an_incast_that_fits_takes_its_serialisation_time() {
    for n in [5, 40] {
        let mut setup = incast("dctcp", n, 10);
        // Room for all: the lower bound of fig. 18.
        setup.network.links.iter_mut().for_each(|l| l.from_b.port = port(2_000, 20));
        let result = outcome(&setup);
        // 1 MB of payload in segments of 1448 B: 8.5 ms with headers and framing.
        let line = Duration::from_us(8_490)..Duration::from_us(9_200);
        for query in &result.queries {
            assert!(line.contains(&took(query)), "{n}: {}", took(query));
            assert_eq!((query.timeouts, query.bytes_retrans), (0, 0));
        }
        assert!(result.queues.iter().all(|q| q.served.overflow_drops == 0));
    }
}

#[test]
fn a_timeout_shows_in_the_time_of_its_query() {
    let setup = incast("sack", 40, 10);
    let result = outcome(&setup);
    assert_eq!(result.queries.len(), 10);
    let (hit, spared): (Vec<_>, Vec<_>) = result.queries.iter().partition(|q| q.timeouts > 0);
    assert!(!hit.is_empty(), "forty windows do not fit into a hundred packets");
    for query in hit {
        assert!(took(query) > setup.hosts[0].config.rto_min, "{}", took(query));
        assert!(query.bytes_retrans > 0);
    }
    assert!(spared.iter().all(|q| took(q) < Duration::from_ms(15)));
    // One query at a time: each RTO of a server counts once. Clients also have some, when the whole
    // answer that acknowledges their request was lost.
    let servers: u64 = result.flows.iter().filter_map(|f| f.tcp.rto_count).sum();
    let all: u64 = result.queries.iter().map(|q| q.timeouts).sum();
    assert!((servers..2 * servers).contains(&all), "{all} {servers}");
    let resent: u64 = result.flows.iter().filter_map(|f| f.tcp.bytes_retrans).sum();
    let all: u64 = result.queries.iter().map(|q| q.bytes_retrans).sum();
    assert_eq!((all - resent) % 200, 0, "and whole requests again");
}

/// DCTCP §4.2.1: 35 servers with two packets of 1.5 KB each exceed 100 KB.
#[test]
fn dctcp_collapses_when_two_packets_per_server_fill_the_buffer_and_tcp_earlier() {
    let hit = |scheme: &str, n: u32| {
        let mut setup = incast(scheme, n, 40);
        let buffer = BufferSpec::Static(QueueLength::Bytes(Bytes::new(100_000)));
        let links = setup.network.links.iter_mut();
        links.for_each(|l| l.from_b.port = PortSpec { buffer, ..port(100, 20) });
        for host in &mut setup.hosts {
            host.config.initial_window = InitialWindow::Segments(2);
            host.config.rto_granularity = Duration::from_ms(10);
        }
        let jitter = Duration::from_us(1);
        setup.disturbance = Disturbance { host_jitter: jitter, ties: true, ..setup.disturbance };
        let result = outcome(&setup);
        assert!(result.queries.iter().all(|q| q.status == FlowStatus::Complete));
        result.queries.iter().filter(|q| q.timeouts > 0).count()
    };
    assert_eq!((hit("dctcp", 10), hit("dctcp", 25)), (0, 0));
    assert_eq!(hit("dctcp", 40), 40);
    assert!(hit("sack", 10) > 4 && hit("sack", 20) > 20);
}

#[test]
fn persistent_connections_keep_their_window() {
    let times = |standing, pause| {
        let mut setup = setup(1);
        setup.hosts[0].config.initial_window = InitialWindow::Segments(2);
        setup.query_clients = vec![query_client(&setup, 4, 60_000)];
        setup.query_clients[0].persistent = standing;
        setup.query_clients[0].schedule = QuerySchedule::ClosedLoop { queries: 4, pause };
        let result = outcome(&setup);
        (result.queries.iter().map(took).collect::<Vec<_>>(), result.flows.len())
    };
    let (kept, connections) = times(true, Duration::ZERO);
    assert_eq!(connections, 1);
    assert!(kept[1] + Duration::from_us(200) < kept[0] && kept[3] <= kept[1], "{kept:?}");
    // After more than an RTO of idle time it slow-starts (RFC 5681 §4.1), but without a handshake.
    let (idle, _) = times(true, Duration::from_secs(1));
    assert!(idle[1] > kept[1] + Duration::from_us(150) && idle[1] < idle[0], "{idle:?}");
    // A new connection slow-starts each time.
    let (fresh, connections) = times(false, Duration::ZERO);
    assert_eq!((connections, fresh[0]), (4, kept[0]));
    assert!(fresh.iter().all(|t| *t > kept[1] + Duration::from_us(200)), "{fresh:?}");
}

#[test]
fn requests_on_a_connection_are_answered_in_order() {
    let mut setup = setup(1);
    setup.query_clients = vec![query_client(&setup, 0, 1)];
    let at = |us| Instant::ZERO + Duration::from_us(us);
    setup.query_clients[0].schedule =
        QuerySchedule::OpenLoop(vec![at(0), at(0), at(100), at(5_000)].into());
    setup.query_clients[0].response_sizes = [500_000, 100, 50_000].map(Bytes::new).to_vec();
    let result = outcome(&setup);
    let queries = &result.queries;
    assert_eq!(
        queries.iter().map(|q| q.answer_bytes).collect::<Vec<_>>(),
        [500_000, 100, 50_000, 500_000]
    );
    assert_eq!(
        queries.iter().map(|q| Instant::from_ps(q.start_ps)).collect::<Vec<_>>(),
        [at(0), at(0), at(100), at(5_000)]
    );
    let ends: Vec<Instant> =
        queries.iter().map(|q| Instant::from_ps(q.end_ps.expect("complete"))).collect();
    // The small answer waits behind the large one; their last segments are sent together.
    assert!(ends[0] > at(4_000) && ends[0] <= ends[1] && ends[1] < ends[2], "{ends:?}");
    assert!(ends[1] < ends[0] + Duration::from_us(20), "{ends:?}");
    assert_eq!(result.flows.len(), 1);
    assert_eq!((result.flows[0].delivered_bytes, result.flows[0].size_bytes), (1_050_100, None));
}

#[test]
fn each_non_persistent_request_opens_a_connection() {
    let mut setup = setup(5);
    let first = flow(&setup, 0, 10_000, Duration::ZERO);
    setup.flows = vec![first, first];
    setup.query_clients = vec![query_client(&setup, 6, 2_000)];
    (setup.query_clients[0].fan_out, setup.query_clients[0].persistent) = (2, false);
    let result = outcome(&setup);
    let opened = &result.flows[2..];
    assert_eq!(opened.len(), 12);
    assert!(opened.iter().zip(2..).all(|(f, id)| f.flow == id && f.dst == "h5"));
    assert!(opened.iter().all(|f| f.status == FlowStatus::Complete && f.size_bytes == Some(2_000)));
    assert!(opened.iter().all(|f| f.role == Role::Answers));
    assert!(opened.iter().all(|f| f.sport == 5_001 && f.tcp.data_segs_out == Some(2)));
    assert!(result.flows[..2].iter().all(|f| f.role == Role::Flow && f.delivered_bytes == 10_000));
    let pairs: Vec<[&str; 2]> = opened.chunks(2).map(|c| [&*c[0].src, &*c[1].src]).collect();
    assert!(pairs.iter().all(|[a, b]| a != b), "never one twice: {pairs:?}");
    let asked: BTreeSet<&str> = pairs.iter().flatten().copied().collect();
    assert!(asked.len() > 2, "drawn anew for each query: {pairs:?}");
    for (query, chunk) in result.queries.iter().zip(opened.chunks(2)) {
        assert_eq!(query.start_ps, chunk[0].start_ps);
        assert_eq!(query.end_ps, chunk.iter().filter_map(|f| f.delivered_ps).max());
    }
}

#[test]
fn the_server_closes_after_its_answer_and_a_persistent_client_after_its_last_query() {
    for standing in [true, false] {
        let mut setup = setup(2);
        setup.query_clients = vec![query_client(&setup, 3, 5_000)];
        setup.query_clients[0].persistent = standing;
        setup.end.when_done = false;
        let result = outcome(&setup);
        assert_eq!((result.reason, result.memory.open_flows), (EndReason::Idle, 0), "{standing}");
        assert!(result.queries.iter().all(|q| q.status == FlowStatus::Complete));
        assert!(result.flows.iter().all(|f| f.error.is_none()));
        assert_eq!(result.counts.rejected, 0);
    }
}

#[test]
fn a_server_that_cannot_be_reached_fails_the_query_and_the_loop_goes_on() {
    for standing in [true, false] {
        let mut setup = setup(3);
        setup.hosts.iter_mut().for_each(|h| h.config.syn_retries = 1);
        setup.network.links[1].from_a.loss = Fraction::from_percent(100);
        setup.query_clients = vec![query_client(&setup, 3, 5_000)];
        setup.query_clients[0].persistent = standing;
        setup.query_clients[0].deadline = Some(Duration::from_secs(60));
        setup.end.at = Duration::from_secs(100);
        let result = outcome(&setup);
        assert_eq!((result.reason, result.queries.len()), (EndReason::Done, 3), "{standing}");
        for query in &result.queries {
            assert_eq!(
                (query.status, query.error.as_deref()),
                (FlowStatus::Failed, Some("timed out"))
            );
            assert_eq!((query.end_ps, query.deadline_met), (None, Some(false)));
        }
        // One connection that fails, or one per query.
        let failed: Vec<_> =
            result.flows.iter().filter(|f| f.status == FlowStatus::Failed).collect();
        assert_eq!(failed.len(), if standing { 1 } else { 3 });
        assert!(failed.iter().all(|f| f.src == "h1" && f.error.as_deref() == Some("timed out")));
        let timeouts: Vec<u64> = result.queries.iter().map(|q| q.timeouts).collect();
        assert_eq!(timeouts, if standing { [1, 0, 0] } else { [1, 1, 1] });
    }
}

fn disturbed(seed: u64) -> Setup {
    let mut setup = incast("dctcp", 12, 4);
    let mut open = query_client(&setup, 0, 3_000);
    open.schedule = QuerySchedule::OpenLoop(
        (0..50).map(|i| Instant::ZERO + Duration::from_us(i * 400)).collect::<Vec<_>>().into(),
    );
    (open.client, open.fan_out, open.persistent) = (0, 4, false);
    open.servers = (1..12).collect();
    open.jitter = Duration::from_us(500);
    setup.query_clients.push(open);
    setup.query_clients[0].jitter = Duration::from_ms(1);
    setup.flows = (0..3).map(|i| flow(&setup, i, 200_000, Duration::ZERO)).collect();
    setup.seed = seed;
    setup.disturbance = disturbance();
    setup
}

#[test]
fn runs_are_reproducible_and_sampling_changes_nothing() {
    let plain = outcome(&disturbed(7));
    assert_eq!(plain, outcome(&disturbed(7)));
    assert_ne!(plain.digest, outcome(&disturbed(8)).digest);
    assert_eq!(plain.queries.len(), 54);
    let mut setup = disturbed(7);
    setup.probes.interval = Some(Duration::from_us(100));
    setup.probes.groups = vec![0];
    setup.probes.flows_per_group = 20;
    (setup.probes.queues, setup.probes.delays) = (true, true);
    setup.probes.trace = vec![0, 3, 40];
    let seen = outcome(&setup);
    assert_eq!(with_rows(&seen), with_rows(&plain));
    // The sending side is traced.
    let trace = seen.trace.expect("a trace");
    for number in [3, 40] {
        let row = &plain.flows.iter().find(|f| f.flow == number).expect("it was opened");
        let acked = trace.senders.iter().filter(|s| s.flow == number).map(|s| s.acked).max();
        assert!(acked.expect("rows") >= 3_000, "{acked:?}");
        let server = trace.segments.iter().filter(|s| s.flow == number && !s.from_client);
        let data = server.filter(|s| s.segment.payload_len > 0);
        let sent = data.map(|s| s.stream + u64::from(s.segment.payload_len)).max();
        assert_eq!(sent, Some(row.delivered_bytes));
    }
    assert!(seen.probes.iter().any(|p| p.flow == 5 && p.bytes_acked > 100_000));
}

fn with_rows(outcome: &Outcome) -> (u64, &[QueryRow], usize) {
    (outcome.digest, &outcome.queries, outcome.flows.len())
}

#[test]
fn request_jitter_is_uniform_within_its_bound() {
    let jitter = Duration::from_us(500);
    let result = outcome(&disturbed(7));
    let mut late = Vec::new();
    for query in result.queries.iter().filter(|q| q.query_client == 1) {
        let first = 3 + 12 + 4 * query.query;
        for flow in result.flows.iter().filter(|f| (first..first + 4).contains(&f.flow)) {
            late.push(Duration::from_ps(flow.start_ps - query.start_ps));
        }
    }
    assert_eq!(late.len(), 200);
    assert!(late.iter().all(|t| *t < jitter));
    // Uniform: the mean of 200 draws is within five standard errors, 10 % of the range.
    let mean = late.iter().map(|t| t.as_secs_f64()).sum::<f64>() / 200.0;
    assert!((mean / jitter.as_secs_f64() - 0.5).abs() < 0.1, "{mean}");
}

#[test]
fn a_run_that_ends_first_leaves_queries_unfinished() {
    let mut setup = incast("dctcp", 4, 1_000);
    setup.end.at = Duration::from_ms(30);
    setup.query_clients[0].deadline = Some(Duration::from_secs(1));
    let result = outcome(&setup);
    assert_eq!(result.reason, EndReason::Time);
    let (last, others) = result.queries.split_last().expect("queries");
    assert!(others.iter().all(|q| q.status == FlowStatus::Complete) && others.len() == 3);
    assert_eq!((last.status, last.end_ps, last.deadline_met), (FlowStatus::Unfinished, None, None));
    assert!(result.flows.iter().all(|f| f.status == FlowStatus::Unfinished));
    assert!(result.flows.iter().all(|f| f.delivered_bytes > 750_000));
}

#[test]
fn invalid_query_clients_are_rejected() {
    let refused = |change: fn(&mut lowtide_traffic::QueryClientSpec)| {
        let mut setup = setup(3);
        setup.query_clients = vec![query_client(&setup, 1, 100), query_client(&setup, 1, 100)];
        change(&mut setup.query_clients[1]);
        match run(&setup, &mut |_| false).expect_err("impossible") {
            RunError::QueryClient { query_client: 1, problem } => problem,
            other => panic!("{other}"),
        }
    };
    assert!(refused(|a| a.client = 99).contains("hosts"));
    assert!(refused(|a| a.servers[0] = 99).contains("hosts"));
    assert!(refused(|a| a.servers[0] = a.client).contains("among its servers"));
    assert!(refused(|a| a.fan_out = 0).contains("at least one"));
    assert!(refused(|a| a.fan_out = 4).contains("at most to all"));
    assert!(refused(|a| a.request = Bytes::new(0)).contains("at least one byte"));
    assert!(refused(|a| a.response_sizes.clear()).contains("answer"));
    assert!(refused(|a| a.response_sizes.push(Bytes::new(0))).contains("answer"));
    let falling = |a: &mut lowtide_traffic::QueryClientSpec| {
        a.schedule = QuerySchedule::OpenLoop(vec![Instant::from_ps(2), Instant::from_ps(1)].into());
    };
    assert!(refused(falling).contains("fall"));
    let many = |a: &mut lowtide_traffic::QueryClientSpec| {
        a.persistent = false;
        a.schedule = QuerySchedule::ClosedLoop { queries: u32::MAX, pause: Duration::ZERO };
    };
    assert!(refused(many).contains("134 million"));
}

#[test]
fn a_reused_port_may_end_a_half_open_connection_before_its_timer() {
    let mut setup = star_setup(1, &config("dctcp"), port(1_000, 500));
    // Clients give up while the link is down; their servers wait for the rest of the request.
    setup.hosts[1].config.user_timeout = Duration::from_ms(50);
    setup.network.failures = vec![Failure {
        link: 1,
        down_at: Instant::ZERO + Duration::from_us(10_500),
        up_at: Some(Instant::ZERO + Duration::from_ms(300)),
        detect: Duration::from_ms(1),
        ..Failure::default()
    }];
    let mut client = query_client(&setup, 1, 500);
    client.persistent = false;
    client.request = Bytes::new(14_000);
    let after = |start_us: u64, gap_us: u64, n: u64| {
        (0..n).map(move |i| Instant::ZERO + Duration::from_us(start_us + gap_us * i))
    };
    // More than there are ephemeral ports, so that later connections get the ports of those.
    let later = after(400_000, 150, 17_000);
    client.schedule =
        QuerySchedule::OpenLoop(after(10_000, 20, 40).chain(later).collect::<Vec<_>>().into());
    setup.query_clients = vec![client];
    let result = outcome(&setup);
    let failed = |q: &&QueryRow| q.status == FlowStatus::Failed;
    let early = result.queries[..40].iter().filter(failed).count();
    let late = result.queries[40..].iter().filter(failed).count();
    assert_eq!(result.reason, EndReason::Done);
    assert!(early > 10, "{early} queries were cut");
    assert_eq!(late, 1, "its SYN met the half-open connection, and its client gave up");
}
