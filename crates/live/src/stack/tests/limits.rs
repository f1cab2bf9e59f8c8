//! Memory and work caused by a hostile packet, compared with the limits in docs/howto/live.md.

use allocation_counter::measure;

use super::hostile::{Attacker, HEADERS, sent, server};
use super::*;

/// Most bytes of memory per byte on the wire.
const PER_WIRE_BYTE: usize = 5;
/// Most bytes of memory per connection without payload.
const PER_CONNECTION: usize = 4368;
/// Most allocations and frees per hostile packet on average.
const MAX_CALLS: u64 = 6;

/// Opens `n` connections from as many ports.
fn attackers(stack: &mut Stack, n: u16, batch: &mut TxBatch) -> Vec<Attacker> {
    (0..n).map(|i| Attacker::open(stack, Instant::ZERO, 1000 + i, batch)).collect()
}

/// Growth of allocated bytes (with 16 per allocation) and of charged bytes, and the number of
/// allocations.
fn growth(stack: &mut Stack, attack: impl FnOnce(&mut Stack)) -> (usize, usize, u64) {
    let before = stack.budget.used();
    let allocated = measure(|| attack(stack));
    let held = allocated.bytes_current.max(0) + 16 * allocated.count_current.max(0);
    (held as usize, stack.budget.used() - before, allocated.count_total)
}

#[test]
fn a_byte_at_the_right_edge_of_the_window_takes_a_few_hundred_bytes() {
    let mut batch = TxBatch::default();
    let mut stack = server(StackLimits::default(), &linux());
    let mut all = attackers(&mut stack, 60, &mut batch);
    let wire: usize = all.iter().map(|a| a.wire).sum();
    let (held, charged, _) = growth(&mut stack, |stack| {
        for attacker in &mut all {
            // The ACK of an out-of-order byte advertises the whole window; the next byte is at its
            // end.
            for offset in [1, (16 << 20) - 1000] {
                attacker.data(stack, Instant::ZERO, offset, b"x", &mut batch);
                batch.clear();
            }
        }
    });
    // A contiguous buffer would take 16 MiB per connection.
    assert!(held <= 60 * 800 && held <= charged, "{held} bytes, {charged} charged");
    assert!(stack.sockets.iter().all(|c| c.receive.memory() > 2 * 128), "both bytes are held");
    let wire = all.iter().map(|a| a.wire).sum::<usize>() - wire;
    assert_eq!(wire, 60 * 2 * (HEADERS + 1));
}

#[test]
fn scattered_bytes_stay_within_the_limit_per_wire_byte() {
    let mut batch = TxBatch::default();
    // Isolated bytes, adjacent bytes forwards and backwards, bytes in random order.
    let patterns: [fn(u32) -> u32; 4] =
        [|n| 2 + 60 * n, |n| 2 + n, |n| 60_000 - n, |n| 2 + 2 * (n * 7919 % 20_000)];
    for (number, offset) in patterns.into_iter().enumerate() {
        let mut stack = server(StackLimits::default(), &linux());
        let mut attacker = Attacker::open(&mut stack, Instant::ZERO, 9, &mut batch);
        // Send one byte first, to exclude allocations that happen only once.
        attacker.data(&mut stack, Instant::ZERO, 65_000, b"x", &mut batch);
        batch.clear();
        let (wire, packets) = (attacker.wire, 20_000);
        let (held, charged, calls) = growth(&mut stack, |stack| {
            for n in 0..packets {
                attacker.data(stack, Instant::ZERO, offset(n), b"x", &mut batch);
                batch.clear();
            }
        });
        let wire = attacker.wire - wire;
        assert!(held <= wire * PER_WIRE_BYTE, "{number}: {held} bytes of memory for {wire}");
        assert!(held <= charged, "{number}: {held} bytes of memory, {charged} charged");
        assert!(calls <= MAX_CALLS * u64::from(packets), "{number}: {calls} allocations");
    }
}

#[test]
fn a_connection_stays_within_its_memory_limit() {
    for established in [false, true] {
        for n in [1000, 1025, 2000_usize] {
            let mut batch = TxBatch::default();
            let mut stack = server(StackLimits::default(), &linux());
            let (held, charged, _) = growth(&mut stack, |stack| {
                for port in 1..=n as u16 {
                    if established {
                        Attacker::open(stack, Instant::ZERO, port, &mut batch);
                    } else {
                        let syn = unsolicited_packet(port, Flags::SYN, 9, &[]);
                        stack.inject(Instant::ZERO, HostStamp(0), &syn, &mut batch);
                    }
                    batch.clear();
                }
            });
            assert!(
                held <= charged && charged <= PER_CONNECTION * n,
                "{n}: {held} bytes, {charged} charged"
            );
        }
    }
}

/// Sends out-of-order segments, as many as the window takes.
fn send_out_of_order(stack: &mut Stack, attacker: &mut Attacker, batch: &mut TxBatch) {
    for n in 0..40 {
        attacker.data(stack, Instant::ZERO, 10 + 1460 * n, &[n as u8; 1460], batch);
        batch.clear();
    }
}

/// TCP_DEFER_ACCEPT: silent connections are limited, the oldest is reset first, and none is
/// accepted.
#[test]
fn silent_connections_are_not_accepted_and_are_bounded() {
    let mut batch = TxBatch::default();
    let mut stack = stack(1);
    stack.listen(80, &linux(), (16, 8)).unwrap();
    stack.defer_accept(80, Duration::from_secs(10));
    let at = |n: u64| Instant::ZERO + Duration::from_ms(n);
    let mut attackers = Vec::new();
    for n in 0..20 {
        attackers.push(Attacker::open(&mut stack, at(n), 1 + n as u16, &mut batch));
        batch.clear();
    }
    assert_eq!(stack.accept(80).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    assert_eq!((stack.counters().connections, stack.counters().listen_overflows), (8, 12));
    // A connection that is left sends data; so does one that was reset, without effect.
    attackers[15].data(&mut stack, at(30), 0, b"x", &mut batch);
    attackers[3].data(&mut stack, at(30), 0, b"x", &mut batch);
    let key = stack.accept(80).unwrap();
    let mut byte = [0; 2];
    assert_eq!(stack.read(key, &mut byte).unwrap(), 1);
    assert_eq!(stack.accept(80).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    // Connections that are still deferred are reset with their listener.
    stack.unlisten(80);
    stack.abandon(key);
    stack.flush(at(31), &mut batch);
    assert_eq!(stack.counters().connections, 0);
    assert!(stack.sockets.iter().next().is_none());
}

#[test]
fn all_connections_together_stay_below_the_limit() {
    const LIMIT: usize = 4 << 20;
    let mut batch = TxBatch::default();
    let limits = StackLimits { memory: LIMIT, ..StackLimits::default() };
    for in_order in [false, true] {
        let mut stack = server(limits, &linux());
        let mut most = 0;
        let (held, charged, calls) = growth(&mut stack, |stack| {
            for attacker in &mut attackers(stack, 200, &mut batch) {
                for n in 0..40 {
                    let offset = if in_order { 1460 * n } else { 10 + 1460 * n };
                    attacker.data(stack, Instant::ZERO, offset, &[7; 1460], &mut batch);
                    batch.clear();
                    most = most.max(stack.budget.used());
                }
            }
        });
        // 11 MB arrived. Only one segment per connection that holds none may exceed the limit.
        assert!(most <= LIMIT + 200 * 4096, "{most}");
        assert!(held <= charged, "{held} bytes of memory, {charged} charged");
        assert!(held <= LIMIT + 200 * 4096, "{held}");
        assert!(stack.counters().no_memory_drops > 0 && calls <= MAX_CALLS * 8600, "{calls}");
        // SYNs are admitted although payload fills the memory, until connections could take a
        // quarter of it.
        let mut syn_acks = 0;
        for port in 10_000..10_100 {
            let syn = unsolicited_packet(port, Flags::SYN, 9, &[]);
            stack.inject(Instant::ZERO, HostStamp(0), &syn, &mut batch);
            syn_acks += sent(&mut batch).len();
        }
        let quarter = LIMIT / 4 / PER_CONNECTION;
        assert!(syn_acks >= quarter - 200, "{syn_acks}");
        assert!(!in_order || syn_acks == quarter - 200, "{syn_acks}");
        for _ in 0..200 {
            let key = stack.accept(80).unwrap();
            stack.abandon(key);
        }
        stack.unlisten(80);
        while stack.counters().connections > 0 {
            let now = stack.next_timer().unwrap_or(Instant::ZERO);
            stack.handle_timeouts(now, &mut batch);
            stack.flush(now, &mut batch);
            batch.clear();
        }
        assert_eq!((stack.budget.used(), stack.counters().orphans), (0, 0));
        assert!(stack.timers.len() == 0 && stack.sockets.iter().next().is_none());
    }
}

#[test]
fn a_transfer_progresses_while_attackers_fill_the_memory() {
    let link = |bytes: &[u8]| vec![(Duration::ZERO, bytes.to_vec())];
    let mut pair = StackPair::new(Box::new(link));
    let memory = 1 << 20;
    pair.stacks[1].set_limits(StackLimits { memory, ..StackLimits::default() });
    let (client, server) = pair.connect(&linux());
    let mut batch = TxBatch::default();
    let mut all = attackers(&mut pair.stacks[1], 200, &mut batch);
    for round in 0..20_u32 {
        for attacker in &mut all {
            send_out_of_order(&mut pair.stacks[1], attacker, &mut batch);
        }
        let bytes: Vec<u8> = (0..50_000_u32).map(|i| (i * 7 + round) as u8).collect();
        let mut got = Vec::new();
        let mut buffer = [0; 10_000];
        let mut written = 0;
        while got.len() < bytes.len() {
            if written < bytes.len()
                && let Ok(n) = pair.stacks[0].write(client, &bytes[written..])
            {
                written += n;
            }
            if let Ok(n) = pair.stacks[1].read(server, &mut buffer) {
                got.extend_from_slice(&buffer[..n]);
            }
            assert!(pair.step(), "no progress with {} of {}", got.len(), bytes.len());
        }
        assert!(got == bytes);
        assert!(pair.stacks[1].budget.used() <= memory + 200 * 4096);
    }
    assert!(pair.now < Instant::ZERO + Duration::from_secs(10), "{:?}", pair.now);
    assert!(pair.stacks[1].counters().ofo_pruned > 0);
}

#[test]
fn writes_to_peers_that_read_nothing_are_bounded() {
    const LIMIT: usize = 8 << 20;
    let mut batch = TxBatch::default();
    let mut stack = server(StackLimits { memory: LIMIT, ..StackLimits::default() }, &linux());
    let now = Instant::ZERO;
    let all = attackers(&mut stack, 200, &mut batch);
    let keys: Vec<ConnKey> = all.iter().map(|_| stack.accept(80).unwrap()).collect();
    let bytes = vec![7; 64 << 10];
    let mut last = 0;
    for key in &keys {
        while stack.write(*key, &bytes).is_ok() {
            stack.flush(now, &mut batch);
            let ends = sent(&mut batch).into_iter().filter_map(|s| all[199].segment_end(&s));
            last = ends.chain([last]).max().unwrap_or(0);
        }
        assert!(stack.unacknowledged(*key) >= 8192, "every connection gets some memory");
        assert!(!stack.readiness(*key).writable);
    }
    let used = stack.budget.used();
    // Without the limit the send buffers would take 4 MiB each: 800 MiB.
    assert!(used <= LIMIT + 200 * 16_384, "{used}");
    // One peer reads: its connection becomes writable again.
    let mut reader = all.into_iter().last().unwrap();
    let key = keys[199];
    reader.acked = last;
    reader.ack(&mut stack, now, &mut batch);
    assert!(stack.readiness(key).writable);
    assert!(!stack.sockets.get(key).unwrap().driver.waits_for_memory, "the writer was notified");
    assert!(stack.write(key, &bytes).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// With little memory and a link that reorders and loses, no byte is wrong and nothing hangs,
    /// although SACKed data is discarded (RFC 2018 §8).
    #[test]
    fn bytes_survive_lack_of_memory(seed in 1_u64.., memory in 40_000_usize..400_000) {
        let mut state = seed;
        let link = move |bytes: &[u8]| match draw(&mut state) % 100 {
            0..3 => Vec::new(),
            n => vec![(Duration::from_us(n / 80 * (draw(&mut state) % 5000)), bytes.to_vec())],
        };
        let mut config = linux();
        config.retries = 30;
        config.syn_retries = 30;
        let mut pair = StackPair::new(Box::new(link));
        for stack in &mut pair.stacks {
            stack.set_limits(StackLimits { memory, ..StackLimits::default() });
        }
        let (client, server) = pair.connect(&config);
        let bytes: Vec<u8> = (0..400_000_u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        let got = pair.transfer(client, server, &bytes);
        prop_assert!(got == bytes, "{} of {}", got.len(), bytes.len());
    }
}

#[test]
fn the_advertised_window_never_shrinks() {
    let mut batch = TxBatch::default();
    let mut stack = server(StackLimits { memory: 200_000, ..StackLimits::default() }, &linux());
    let mut attacker = Attacker::open(&mut stack, Instant::ZERO, 9, &mut batch);
    let (mut edge, mut limited) = (0, false);
    for n in 0..120_u32 {
        attacker.data(&mut stack, Instant::ZERO, 1460 * n, &[1; 1460], &mut batch);
        for segment in sent(&mut batch) {
            // The scale is that of the profile's 16 MiB buffer; the SYN's window is ignored.
            let right = segment.ack.add(u64::from(segment.window) << 9);
            let right = right.diff(attacker.data_start());
            assert!(right + (1 << 9) > edge, "{right} after {edge}");
            edge = edge.max(right);
        }
        limited |= stack.sockets.iter().any(|c| c.driver.receive_limit.is_some());
    }
    assert!(limited, "memory was short");
}

#[test]
fn time_wait_stays_within_its_memory_limit() {
    let limits = StackLimits { memory: 8 << 20, ..StackLimits::default() };
    let (mut stack, mut batch) = (server(limits, &linux()), TxBatch::default());
    let (held, _, _) = growth(&mut stack, |stack| {
        for port in 1..=3000 {
            let mut peer = Attacker::open(stack, Instant::ZERO, port, &mut batch);
            let key = stack.accept(80).unwrap();
            stack.drop_stream(key);
            stack.flush(Instant::ZERO, &mut batch);
            batch.clear();
            // The peer acknowledges our FIN and closes its half.
            peer.acked = 1;
            peer.fin(stack, Instant::ZERO, &mut batch);
            batch.clear();
        }
    });
    assert_eq!((stack.counters().connections, stack.counters().orphans), (0, 0));
    assert_eq!(stack.sockets.endpoint().time_waits(Instant::ZERO), 2048);
    assert!(held <= 2048 * 512, "{} bytes for each", held / 2048);
}

#[test]
fn each_connection_has_one_timer_at_most() {
    let mut config = linux();
    config.keep_alive = true;
    let mut batch = TxBatch::default();
    let mut stack = server(StackLimits::default(), &config);
    let mut attacker = Attacker::open(&mut stack, Instant::ZERO, 9, &mut batch);
    let key = stack.accept(80).unwrap();
    let (mut now, mut buffer) = (Instant::ZERO, [0; 4096]);
    for n in 0..2_000_u32 {
        now += Duration::from_ms(100);
        attacker.data(&mut stack, now, 10 * n, b"0123456789", &mut batch);
        assert_eq!(stack.read(key, &mut buffer).unwrap(), 10);
        stack.flush(now, &mut batch);
        stack.handle_timeouts(now, &mut batch);
        batch.clear();
        assert_eq!(stack.timers.len(), 1);
    }
}
