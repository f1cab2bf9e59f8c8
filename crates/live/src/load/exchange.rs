//! One connection, from both sides.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use lowtide_units::Instant;

use super::{Amount, ByteStream, DataDigest, Digest, Pattern, TransferDirection, TransferRequest};
use crate::clock::{Clock, std_duration};

/// How far a connection is, for whoever watches.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes of data that were written or read here.
    pub bytes: AtomicU64,
    /// Set it to end the data early.
    pub stop: AtomicBool,
    /// The request has come; only of a server's connections.
    pub requested: AtomicBool,
}

/// How the data of one connection fared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransferOutcome {
    /// What this end sent or received.
    pub local: DataDigest,
    /// What the other end says; `None` where that cannot be heard.
    pub remote: Option<DataDigest>,
}

impl TransferOutcome {
    /// Both ends saw the same bytes.
    pub fn checksums_match(&self) -> bool {
        self.remote == Some(self.local)
    }
}

const READ_SIZE: usize = 128 << 10;

/// The client's side: asks for it, sends or receives, compares.
///
/// # Errors
/// The connection failed.
pub fn run_client(
    pipe: &dyn ByteStream,
    request: &TransferRequest,
    progress: &Progress,
) -> io::Result<TransferOutcome> {
    pipe.write_all(&request.to_bytes())?;
    match request.direction {
        TransferDirection::Up => {
            let here = send(pipe, request, progress)?;
            pipe.shutdown_write()?;
            let mut there = [0; DataDigest::LEN];
            let complete = read_full(pipe, &mut there)?;
            Ok(TransferOutcome {
                local: here,
                remote: complete.then(|| DataDigest::from_bytes(there)),
            })
        }
        TransferDirection::Down => {
            let outcome = receive(pipe, progress, true)?;
            pipe.shutdown_write()?;
            Ok(outcome)
        }
    }
}

/// How long a server waits for its client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServerTimeouts {
    /// For the whole of the request.
    pub request: Duration,
    /// For anything at all after that.
    pub idle: Duration,
}

/// The server's side: does what the client asks for.
///
/// # Errors
/// The connection failed, the client was silent for too long, or this is no client.
pub fn serve_connection(
    pipe: &dyn ByteStream,
    progress: &Progress,
    patience: ServerTimeouts,
) -> io::Result<(TransferRequest, TransferOutcome)> {
    let mut bytes = [0; TransferRequest::LEN];
    let whole = read_full_within(pipe, &mut bytes, patience.request)?;
    pipe.set_timeout(Some(patience.idle))?;
    let request = TransferRequest::from_bytes(&bytes).filter(|_| whole).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "what came is no request of `lowtide live client`",
        )
    })?;
    progress.requested.store(true, Ordering::Relaxed);
    let outcome = match request.direction {
        TransferDirection::Up => {
            let outcome = receive(pipe, progress, false)?;
            pipe.write_all(&outcome.local.to_bytes())?;
            outcome
        }
        TransferDirection::Down => {
            let here = send(pipe, &request, progress)?;
            pipe.write_all(&here.to_bytes())?;
            TransferOutcome { local: here, remote: None }
        }
    };
    pipe.shutdown_write()?;
    // The client's end of data; it has nothing more to say.
    if pipe.read(&mut [0])? > 0 {
        let message = "the client sent more than it had announced";
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok((request, outcome))
}

/// [`fill`] within `limit`, however the bytes trickle in.
fn read_full_within(pipe: &dyn ByteStream, out: &mut [u8], limit: Duration) -> io::Result<bool> {
    let clock = Clock::start();
    let mut at = 0;
    while at < out.len() {
        let left = limit.saturating_sub(std_duration(clock.now().since_start()));
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "no request came in time"));
        }
        pipe.set_timeout(Some(left))?;
        match pipe.read(&mut out[at..])? {
            0 => return Ok(false),
            n => at += n,
        }
    }
    Ok(true)
}

/// Fills `out`; false when the data ends before.
fn read_full(pipe: &dyn ByteStream, out: &mut [u8]) -> io::Result<bool> {
    let mut at = 0;
    while at < out.len() {
        match pipe.read(&mut out[at..])? {
            0 => return Ok(false),
            n => at += n,
        }
    }
    Ok(true)
}

fn send(
    pipe: &dyn ByteStream,
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
    while digest.len() < most && !progress.stop.load(Ordering::Relaxed) && clock.now() < until {
        let left = usize::try_from(most - digest.len()).unwrap_or(usize::MAX);
        let piece = pattern.at(digest.len(), left.min(request.write_size as usize));
        pipe.write_all(piece)?;
        digest.update(piece);
        progress.bytes.fetch_add(piece.len() as u64, Ordering::Relaxed);
    }
    Ok(DataDigest { bytes: digest.len(), digest: digest.value() })
}

/// Receives until the end of data; with `judged` the sender's verdict is its end.
fn receive(
    pipe: &dyn ByteStream,
    progress: &Progress,
    judged: bool,
) -> io::Result<TransferOutcome> {
    let keep = if judged { DataDigest::LEN } else { 0 };
    let mut digest = Digest::default();
    let mut buffer = vec![0; READ_SIZE + DataDigest::LEN];
    let mut held = 0;
    loop {
        let n = pipe.read(&mut buffer[held..held + READ_SIZE])?;
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
    let here = DataDigest { bytes: digest.len(), digest: digest.value() };
    let last = buffer.first_chunk().filter(|_| judged && held == keep);
    Ok(TransferOutcome { local: here, remote: last.map(|bytes| DataDigest::from_bytes(*bytes)) })
}
