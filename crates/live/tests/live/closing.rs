//! Closing of connections, and slow readers.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use lowtide_live::Stream;

use crate::world::{PORT, World, in_namespace, kernel_at, ours_at, settings};

/// Opens a connection from us to the kernel. Returns both ends.
fn connect(world: &World, v6: bool) -> (Stream, TcpStream) {
    let listener = TcpListener::bind((kernel_at(v6), PORT)).unwrap();
    let to = SocketAddr::new(kernel_at(v6), PORT);
    let ours = world.live.connect(to, &settings(&[])).unwrap();
    let (kernel, from) = listener.accept().unwrap();
    assert_eq!(from, ours.local_addr().unwrap());
    assert_eq!(ours.peer_addr().unwrap(), to);
    kernel.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    ours.set_timeout(Some(Duration::from_secs(10)));
    (ours, kernel)
}

fn read_all(mut from: impl Read) -> Vec<u8> {
    let mut out = Vec::new();
    from.read_to_end(&mut out).unwrap();
    out
}

pub(crate) fn half_closed_connections_still_send() {
    in_namespace(|| {
        let world = World::new();
        for v6 in [false, true] {
            let (mut ours, mut kernel) = connect(&world, v6);
            ours.write_all(b"question").unwrap();
            ours.shutdown(Shutdown::Write).unwrap();
            assert_eq!(read_all(&kernel), b"question");
            std::thread::sleep(Duration::from_millis(50));
            kernel.write_all(b"answer").unwrap();
            drop(kernel);
            assert_eq!(read_all(&ours), b"answer");
            assert!(ours.write(b"more").is_err(), "our sending direction is closed");

            let (mut ours, mut kernel) = connect(&world, v6);
            kernel.write_all(b"question").unwrap();
            kernel.shutdown(Shutdown::Write).unwrap();
            assert_eq!(read_all(&ours), b"question");
            std::thread::sleep(Duration::from_millis(50));
            ours.write_all(b"answer").unwrap();
            drop(ours);
            assert_eq!(read_all(&kernel), b"answer");
        }
        world.assert_empty();
    });
}

pub(crate) fn both_ends_may_close_at_once() {
    in_namespace(|| {
        let world = World::new();
        for round in 0..50 {
            let (mut ours, mut kernel) = connect(&world, round % 2 == 0);
            ours.write_all(b"x").unwrap();
            kernel.write_all(b"y").unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| kernel.shutdown(Shutdown::Write).unwrap());
                ours.shutdown(Shutdown::Write).unwrap();
            });
            assert_eq!((read_all(&kernel), read_all(&ours)), (b"x".to_vec(), b"y".to_vec()));
        }
        world.assert_empty();
    });
}

pub(crate) fn a_reset_is_an_error_at_the_other_end() {
    in_namespace(|| {
        let world = World::new();
        // Ours: aborted, and dropped with unread data.
        let (ours, mut kernel) = connect(&world, false);
        ours.abort();
        let error = kernel.read(&mut [0; 9]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        let (ours, mut kernel) = connect(&world, false);
        kernel.write_all(b"unread").unwrap();
        while !ours.readiness().readable {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(ours);
        let error = kernel.read(&mut [0; 9]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        // The kernel's: closed with unread data.
        let (mut ours, kernel) = connect(&world, true);
        ours.write_all(b"unread").unwrap();
        while ours.unacknowledged() > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(kernel);
        let error = ours.read(&mut [0; 9]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
        // No listener.
        let to = SocketAddr::new(kernel_at(false), PORT + 1);
        let error = world.live.connect(to, &settings(&[])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{error}");
        let to = SocketAddr::new(ours_at(false), PORT + 1);
        assert_eq!(TcpStream::connect(to).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        world.assert_empty();
    });
}

pub(crate) fn a_slow_reader_closes_the_window_and_opens_it_again() {
    const BYTES: usize = 3_000_000;
    in_namespace(|| {
        let world = World::new();
        let pattern: Vec<u8> = (0..BYTES).map(|i| (i % 253) as u8).collect();
        // First we read slowly, then the kernel does.
        let (mut ours, kernel) = connect(&world, false);
        std::thread::scope(|scope| {
            scope.spawn(|| (&kernel).write_all(&pattern).unwrap());
            std::thread::sleep(Duration::from_millis(600));
            let mut got = vec![0; BYTES];
            for piece in got.chunks_mut(300_000) {
                ours.read_exact(piece).unwrap();
                std::thread::sleep(Duration::from_millis(20));
            }
            assert!(got == pattern);
        });
        let small = settings(&[("receive-buffer", "30 kB"), ("send-buffer", "50 kB")]);
        let listener = world.live.listen(PORT, &small).unwrap();
        let kernel = TcpStream::connect((ours_at(true), PORT)).unwrap();
        let (mut ours, _) = listener.accept().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| (&kernel).write_all(&pattern).unwrap());
            // Long enough for zero window probes.
            std::thread::sleep(Duration::from_millis(600));
            assert_eq!(ours.info().unwrap().tcp.bytes_received, 30_000);
            let mut got = vec![0; BYTES];
            ours.read_exact(&mut got).unwrap();
            assert!(got == pattern);
        });
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| ours.write_all(&pattern).unwrap());
            std::thread::sleep(Duration::from_millis(600));
            let mut got = vec![0; BYTES];
            (&kernel).read_exact(&mut got).unwrap();
            writer.join().unwrap();
            assert!(got == pattern);
        });
    });
}
