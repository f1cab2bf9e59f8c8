//! Executes a script over blocking streams: ours and the kernel's.

use std::io;
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::pattern::Pattern;
use lowtide_live::Stream;
use lowtide_live::load::ByteStream;

use crate::script::{Checksum, EndpointReport, EndpointScript};

/// Maximum bytes of one read.
const PIECE: usize = 16 << 10;

/// A stream that can be aborted.
pub trait AbortableStream: ByteStream {
    /// Aborts the connection with RST, at the latest when the stream is dropped. Unlike
    /// [`ByteStream::abort`], it sends no FIN before.
    fn reset(&self);
}

impl AbortableStream for Stream {
    fn reset(&self) {
        Self::abort(self);
    }
}

impl AbortableStream for TcpStream {
    fn reset(&self) {
        // Closing then sends RST instead of FIN.
        let _ = socket2::SockRef::from(self).set_linger(Some(Duration::ZERO));
    }
}

/// Name of an error in reports.
pub fn error_name(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionReset => "reset".to_owned(),
        io::ErrorKind::ConnectionRefused => "refused".to_owned(),
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "timeout".to_owned(),
        _ => error.to_string(),
    }
}

/// Sends and receives as `script` says, in both directions concurrently.
pub fn perform(end: &dyn AbortableStream, script: &EndpointScript) -> EndpointReport {
    let (fin_seen, fin) = channel();
    let (sent, received) = std::thread::scope(|scope| {
        let write = move || if script.reset_at > 0 { Ok(0) } else { send(end, script, &fin) };
        let sender = std::thread::Builder::new().spawn_scoped(scope, write);
        let received = receive(end, script);
        if received.2.is_ok() {
            // A sender that does not wait has dropped its receiver.
            let _ = fin_seen.send(());
        }
        drop(fin_seen);
        let sent = sender.and_then(|s| s.join().unwrap_or_else(|_| Err(io::Error::other("panic"))));
        (sent, received)
    });
    let (bytes, checksum, result) = received;
    // One direction may have consumed the reset; the other then finds the connection closed.
    let ended = match (&sent, &result) {
        (Ok(_), Ok(())) if script.reset_at > 0 => "aborted".to_owned(),
        (Ok(_), Ok(())) => "closed".to_owned(),
        (Err(e), _) | (_, Err(e)) if e.kind() == io::ErrorKind::ConnectionReset => error_name(e),
        (_, Err(e)) | (Err(e), _) => error_name(e),
    };
    EndpointReport { sent: sent.unwrap_or(0), received: bytes, checksum: checksum.text(), ended }
}

fn send(end: &dyn AbortableStream, script: &EndpointScript, fin: &Receiver<()>) -> io::Result<u64> {
    if script.after_fin && fin.recv().is_err() {
        return Err(io::Error::other("no FIN came"));
    }
    let pattern = Pattern::new(script.seed);
    let mut sent = 0;
    while sent < script.send {
        let most = script.write.min(script.send - sent);
        let piece = pattern.at(sent, usize::try_from(most).unwrap_or(usize::MAX));
        end.write_all(piece)?;
        sent += piece.len() as u64;
    }
    end.shutdown_write()?;
    Ok(sent)
}

fn receive(end: &dyn AbortableStream, script: &EndpointScript) -> (u64, Checksum, io::Result<()>) {
    std::thread::sleep(Duration::from_millis(script.pause_ms));
    let (mut bytes, mut sum, mut buffer) = (0_u64, Checksum::default(), vec![0; PIECE]);
    loop {
        let most = match script.reset_at {
            0 => PIECE,
            at if bytes >= at => {
                end.reset();
                return (bytes, sum, Ok(()));
            }
            at => usize::try_from(at - bytes).unwrap_or(PIECE).min(PIECE),
        };
        match end.read(&mut buffer[..most]) {
            Ok(0) if script.reset_at > 0 => {
                return (bytes, sum, Err(io::Error::other("FIN came before enough data")));
            }
            Ok(0) => return (bytes, sum, Ok(())),
            Ok(n) => {
                sum.update(&buffer[..n]);
                bytes += n as u64;
            }
            Err(error) => return (bytes, sum, Err(error)),
        }
    }
}

/// Sets timeouts on a kernel stream, so that no call waits forever.
///
/// # Errors
/// Those of socket options.
pub fn set_timeouts(stream: &TcpStream, script: &EndpointScript) -> io::Result<()> {
    let limit = Some(Duration::from_secs(script.limit_s.max(1)));
    stream.set_read_timeout(limit)?;
    stream.set_write_timeout(limit)
}
