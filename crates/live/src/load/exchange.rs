//! Protocol of one connection, for client and server.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use lowtide_units::Instant;

use super::{Amount, ByteStream, DataDigest, Digest, Pattern, TransferDirection, TransferRequest};
use crate::clock::{Clock, std_duration};

/// Progress of a connection, shared with its observers.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes of data written or read so far.
    pub bytes: AtomicU64,
    /// Set to end the data early.
    pub stop: AtomicBool,
    /// Whether `bytes` are sent, not received.
    pub sends: AtomicBool,
}

impl Progress {
    /// Bytes received, and bytes that the peer took: those it has `acknowledged`, if that is known,
    /// else those written.
    pub fn moved(&self, acknowledged: Option<u64>) -> u64 {
        let bytes = self.bytes.load(Ordering::Relaxed);
        let sends = self.sends.load(Ordering::Relaxed);
        let sent = acknowledged.unwrap_or(if sends { bytes } else { 0 });
        sent + if sends { 0 } else { bytes }
    }
}

/// Data transferred on one connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransferOutcome {
    /// Bytes and checksum that this end sent or received.
    pub local: DataDigest,
    /// Bytes and checksum reported by the other end; `None` if it reported none.
    pub remote: Option<DataDigest>,
}

impl TransferOutcome {
    /// Whether both ends report the same bytes.
    pub fn checksums_match(&self) -> bool {
        self.remote == Some(self.local)
    }
}

const READ_SIZE: usize = 128 << 10;

/// Runs the client's side: sends the request, transfers data, compares checksums.
///
/// # Errors
/// The connection failed.
pub fn run_client(
    stream: &dyn ByteStream,
    request: &TransferRequest,
    progress: &Progress,
) -> io::Result<TransferOutcome> {
    stream.write_all(&request.to_bytes())?;
    match request.direction {
        TransferDirection::Up => {
            let local = send(stream, request, progress)?;
            stream.shutdown_write()?;
            let mut remote_bytes = [0; DataDigest::LEN];
            let complete = read_full(stream, &mut remote_bytes)?;
            Ok(TransferOutcome {
                local,
                remote: complete.then(|| DataDigest::from_bytes(remote_bytes)),
            })
        }
        TransferDirection::Down => {
            let outcome = receive(stream, progress, true)?;
            stream.shutdown_write()?;
            Ok(outcome)
        }
    }
}

/// Runs the server's side: handles the client's request, which must arrive within
/// `request_timeout`.
///
/// # Errors
/// The connection failed, the request was late, or it was invalid.
pub fn serve_connection(
    stream: &dyn ByteStream,
    progress: &Progress,
    request_timeout: Duration,
) -> io::Result<(TransferRequest, TransferOutcome)> {
    let mut bytes = [0; TransferRequest::LEN];
    let complete = read_full_within(stream, &mut bytes, request_timeout)?;
    stream.set_timeout(None)?;
    let request = TransferRequest::from_bytes(&bytes).filter(|_| complete).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "the data is not a request of `lowtide live client`",
        )
    })?;
    let outcome = match request.direction {
        TransferDirection::Up => {
            let outcome = receive(stream, progress, false)?;
            stream.write_all(&outcome.local.to_bytes())?;
            outcome
        }
        TransferDirection::Down => {
            let local = send(stream, &request, progress)?;
            stream.write_all(&local.to_bytes())?;
            TransferOutcome { local, remote: None }
        }
    };
    stream.shutdown_write()?;
    // The client closes its half; it must send nothing more.
    if stream.read(&mut [0])? > 0 {
        let message = "the client sent more than it had announced";
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok((request, outcome))
}

/// Fills `out` within the total time `limit`. Returns false if the data ends before.
fn read_full_within(stream: &dyn ByteStream, out: &mut [u8], limit: Duration) -> io::Result<bool> {
    let clock = Clock::start();
    let mut at = 0;
    while at < out.len() {
        let left = limit.saturating_sub(std_duration(clock.now().since_start()));
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "no request came in time"));
        }
        stream.set_timeout(Some(left))?;
        match stream.read(&mut out[at..])? {
            0 => return Ok(false),
            n => at += n,
        }
    }
    Ok(true)
}

/// Fills `out`. Returns false if the data ends before.
fn read_full(stream: &dyn ByteStream, out: &mut [u8]) -> io::Result<bool> {
    let mut at = 0;
    while at < out.len() {
        match stream.read(&mut out[at..])? {
            0 => return Ok(false),
            n => at += n,
        }
    }
    Ok(true)
}

fn send(
    stream: &dyn ByteStream,
    request: &TransferRequest,
    progress: &Progress,
) -> io::Result<DataDigest> {
    let clock = Clock::start();
    let (most, until) = match request.amount {
        Amount::Bytes(n) => (n, Instant::FAR_FUTURE),
        Amount::Millis(ms) => (u64::MAX, Instant::ZERO + lowtide_units::Duration::from_ms(ms)),
    };
    let pattern = Pattern::new(request.seed);
    let mut digest = Digest::default();
    progress.sends.store(true, Ordering::Relaxed);
    while digest.len() < most && !progress.stop.load(Ordering::Relaxed) && clock.now() < until {
        let left = usize::try_from(most - digest.len()).unwrap_or(usize::MAX);
        let piece = pattern.at(digest.len(), left.min(request.write_size as usize));
        stream.write_all(piece)?;
        digest.update(piece);
        progress.bytes.fetch_add(piece.len() as u64, Ordering::Relaxed);
    }
    Ok(DataDigest { bytes: digest.len(), digest: digest.value() })
}

/// Receives until the end of data. With `expect_digest` the sender's digest is its end.
fn receive(
    stream: &dyn ByteStream,
    progress: &Progress,
    expect_digest: bool,
) -> io::Result<TransferOutcome> {
    let keep = if expect_digest { DataDigest::LEN } else { 0 };
    let mut digest = Digest::default();
    let mut buffer = vec![0; READ_SIZE + DataDigest::LEN];
    let mut held = 0;
    loop {
        let n = stream.read(&mut buffer[held..held + READ_SIZE])?;
        if n == 0 {
            break;
        }
        let have = held + n;
        let fresh = have.saturating_sub(keep);
        digest.update(&buffer[..fresh]);
        progress.bytes.fetch_add(fresh as u64, Ordering::Relaxed);
        buffer.copy_within(fresh..have, 0);
        held = have - fresh;
    }
    let local = DataDigest { bytes: digest.len(), digest: digest.value() };
    let last = buffer.first_chunk().filter(|_| expect_digest && held == keep);
    Ok(TransferOutcome { local, remote: last.map(|bytes| DataDigest::from_bytes(*bytes)) })
}
