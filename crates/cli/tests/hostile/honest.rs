//! A client of the kernel that keeps connecting and sending during the attack.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lowtide_live::load::{Amount, DataDigest, Digest, Pattern, TransferDirection, TransferRequest};

/// Bytes of each transfer.
const BYTES: u64 = 20_000;
/// Pause between two transfers.
const PAUSE: Duration = Duration::from_millis(20);
/// Timeout of a connection and of a transfer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Transfers of an honest client.
#[derive(Debug, Default)]
pub(crate) struct ClientStats {
    /// Connect time of each successful transfer.
    pub(crate) connects: Vec<Duration>,
    /// Errors of the failed transfers.
    pub(crate) failures: Vec<String>,
}

/// Makes transfers until `stop` is set, at least one.
pub(crate) fn client(stop: &AtomicBool) -> ClientStats {
    let mut stats = ClientStats::default();
    loop {
        match transfer() {
            Ok(connect) => stats.connects.push(connect),
            Err(why) => stats.failures.push(why.to_string()),
        }
        if stop.load(Ordering::Relaxed) {
            return stats;
        }
        std::thread::sleep(PAUSE);
    }
}

fn transfer() -> std::io::Result<Duration> {
    let start = Instant::now();
    let to = SocketAddr::from(([10, 77, 0, 2], 5201));
    let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    let connect = start.elapsed();
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = TransferRequest {
        direction: TransferDirection::Up,
        amount: Amount::Bytes(BYTES),
        seed: 3,
        write_size: 1,
    };
    stream.write_all(&request.to_bytes())?;
    let (pattern, mut digest) = (Pattern::new(3), Digest::default());
    while digest.len() < BYTES {
        let piece = pattern.at(digest.len(), (BYTES - digest.len()) as usize);
        stream.write_all(piece)?;
        digest.update(piece);
    }
    stream.shutdown(Shutdown::Write)?;
    let mut verdict = [0; DataDigest::LEN];
    stream.read_exact(&mut verdict)?;
    assert_eq!(
        DataDigest::from_bytes(verdict),
        DataDigest { bytes: BYTES, digest: digest.value() }
    );
    Ok(connect)
}
