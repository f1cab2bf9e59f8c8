//! Many connections, with threads and with a poller.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use lowtide_live::load::TransferDirection;
use lowtide_live::{Poller, Stream};

use crate::world::{PORT, World, assert_good, flows_of, in_namespace, ours_at, settings};

pub(crate) fn many_short_connections_leave_nothing_behind() {
    in_namespace(|| {
        let world = World::new();
        let config = settings(&[]);
        for round in 0..10 {
            let load = flows_of(40, TransferDirection::Up, 700 * (round + 1));
            let n = 40 * 700 * (round + 1);
            assert_good("up", &world.to_kernel(round % 2 == 1, &config, &load), n);
            let load = flows_of(40, TransferDirection::Down, 700 * (round + 1));
            assert_good("down", &world.serve_kernel(round % 2 == 0, &config, &load), n);
        }
        world.assert_empty();
        let packets = world.live.stats().packets;
        assert_eq!((packets.backlog_full, packets.listen_overflows, packets.unsent), (0, 0, 0));
        assert_eq!(packets.buffer_memory, 0);
    });
}

/// An echo server for many connections in one thread.
pub(crate) fn one_thread_serves_many_with_a_poller() {
    const CLIENTS: usize = 30;
    const EACH: usize = 200_000;
    in_namespace(|| {
        let world = World::new();
        let listener = world.live.listen(PORT, &settings(&[])).unwrap();
        listener.set_nonblocking(true);
        let to = SocketAddr::new(ours_at(false), PORT);
        let clients = std::thread::spawn(move || {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|i| {
                    std::thread::spawn(move || {
                        let stream = TcpStream::connect(to).unwrap();
                        let sent: Vec<u8> = (0..EACH).map(|n| (n * (i + 1) % 251) as u8).collect();
                        let mut got = Vec::new();
                        std::thread::scope(|scope| {
                            scope.spawn(|| {
                                (&stream).write_all(&sent).unwrap();
                                stream.shutdown(std::net::Shutdown::Write).unwrap();
                            });
                            (&stream).read_to_end(&mut got).unwrap();
                        });
                        assert!(got == sent, "client {i}");
                    })
                })
                .collect();
            for client in clients {
                client.join().unwrap();
            }
        });

        let poller = Poller::new();
        poller.watch_listener(&listener, 0);
        // Streams by token from 1, with the bytes that they still have to echo.
        let mut streams: Vec<Option<(Stream, Vec<u8>, bool)>> = Vec::new();
        let mut done = 0;
        while done < CLIENTS {
            let ready = poller.wait(Some(std::time::Duration::from_secs(10)));
            assert!(!ready.is_empty(), "{done} of {CLIENTS}");
            for token in ready {
                if token.0 == 0 {
                    while let Ok((stream, _)) = listener.accept() {
                        stream.set_nonblocking(true);
                        poller.watch_stream(&stream, streams.len() as u64 + 1);
                        streams.push(Some((stream, Vec::new(), false)));
                    }
                    continue;
                }
                let slot = &mut streams[token.0 as usize - 1];
                let Some((stream, waiting, ended)) = slot else { continue };
                if echo(stream, waiting, ended) {
                    *slot = None;
                    done += 1;
                }
            }
        }
        clients.join().unwrap();
        drop(listener);
        world.assert_empty();
    });
}

/// Reads and writes until both would block. Returns true once everything is echoed.
fn echo(stream: &mut Stream, waiting: &mut Vec<u8>, ended: &mut bool) -> bool {
    let mut buffer = [0; 5000];
    loop {
        while !*ended && waiting.len() < 100_000 {
            match stream.read(&mut buffer) {
                Ok(0) => *ended = true,
                Ok(n) => waiting.extend_from_slice(&buffer[..n]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) => panic!("{e}"),
            }
        }
        if waiting.is_empty() {
            return *ended;
        }
        match stream.write(waiting) {
            Ok(n) => drop(waiting.drain(..n)),
            Err(e) if e.kind() == ErrorKind::WouldBlock => return false,
            Err(e) => panic!("{e}"),
        }
    }
}
