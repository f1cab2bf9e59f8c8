//! Script of one connection for both ends, and the report of each end.
//!
//! Contract: a peer program is started as `PROGRAM key=value...`, with the keys of
//! [`EndpointScript::to_args`]. It writes lines to standard output and reads standard input:
//!
//! 1. `tun`: its TUN interface exists. It waits for the line `go`, after which the interface is up.
//! 2. `ready`: it listens. A program that connects does so right after `go`, without this line.
//! 3. One line of JSON: the [`EndpointReport`]. Its stack keeps running, so that it can retransmit
//!    and acknowledge.
//! 4. It exits when standard input ends, in any state.
//!
//! The bytes are those of [`Pattern`], so that the receiver's checksum identifies them.

use std::net::SocketAddr;

use crate::pattern::Pattern;
use serde::{Deserialize, Serialize};

/// Active or passive open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenMode {
    /// This end sends the SYN.
    Connect,
    /// The other end sends the SYN.
    Listen,
}

/// Script of one end of one connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndpointScript {
    /// Active or passive open.
    pub open: OpenMode,
    /// Name of the TUN interface that the program creates.
    pub tun: String,
    /// Address of this end; only a listener uses its port.
    pub local: SocketAddr,
    /// Address of the other end; only a client uses its port.
    pub remote: SocketAddr,
    /// Bytes to send, then FIN.
    pub send: u64,
    /// Bytes of one write. Peers in other languages write as much as fits.
    pub write: u64,
    /// Seed of the pattern.
    pub seed: u64,
    /// Sends nothing until the FIN of the other end has arrived.
    pub after_fin: bool,
    /// Aborts the connection (RST) after this many received bytes; zero for never. Such an end
    /// sends no data.
    pub reset_at: u64,
    /// Time after the handshake for which it does not read, milliseconds.
    pub pause_ms: u64,
    /// Receive buffer in bytes; zero for the stack's default.
    pub window: u32,
    /// Time limit of the program, seconds.
    pub limit_s: u64,
}

impl EndpointScript {
    /// Arguments for a peer program.
    pub fn to_args(&self) -> Vec<String> {
        let Self { tun, local, remote, .. } = self;
        let open = if self.open == OpenMode::Connect { "connect" } else { "listen" };
        vec![
            format!("open={open}"),
            format!("tun={tun}"),
            format!("local={}", local.ip()),
            format!("local-port={}", local.port()),
            format!("remote={}", remote.ip()),
            format!("remote-port={}", remote.port()),
            format!("send={}", self.send),
            format!("write={}", self.write),
            format!("seed={}", self.seed),
            format!("after-fin={}", u8::from(self.after_fin)),
            format!("reset-at={}", self.reset_at),
            format!("pause-ms={}", self.pause_ms),
            format!("window={}", self.window),
            format!("limit-s={}", self.limit_s),
        ]
    }

    /// Parses the output of [`Self::to_args`].
    ///
    /// # Errors
    /// The missing or invalid argument.
    pub fn from_args(args: &[String]) -> Result<Self, String> {
        let text = |key: &str| {
            let all = args.iter().filter_map(|a| a.split_once('='));
            let mut found = all.filter(|(k, _)| *k == key).map(|(_, v)| v);
            found.next().ok_or_else(|| format!("`{key}=` is missing"))
        };
        let number = |key: &str| -> Result<u64, String> {
            text(key)?.parse().map_err(|_| format!("`{key}=` takes a number"))
        };
        let address = |ip: &str, port: &str| -> Result<SocketAddr, String> {
            let ip_value = text(ip)?.parse().map_err(|_| format!("`{ip}=` takes an address"))?;
            let port_value = text(port)?.parse().map_err(|_| format!("`{port}=` takes a port"))?;
            Ok(SocketAddr::new(ip_value, port_value))
        };
        Ok(Self {
            open: match text("open")? {
                "connect" => OpenMode::Connect,
                "listen" => OpenMode::Listen,
                _ => return Err("`open=` takes connect or listen".to_owned()),
            },
            tun: text("tun")?.to_owned(),
            local: address("local", "local-port")?,
            remote: address("remote", "remote-port")?,
            send: number("send")?,
            write: number("write")?,
            seed: number("seed")?,
            after_fin: number("after-fin")? != 0,
            reset_at: number("reset-at")?,
            pause_ms: number("pause-ms")?,
            window: u32::try_from(number("window")?).map_err(|e| e.to_string())?,
            limit_s: number("limit-s")?,
        })
    }
}

/// Close status as seen by one side: `closed` (FIN sent and received), `aborted` (this
/// end sent RST as its script says), `reset`, `refused`, `timeout`, or an error of its stack.
pub type CloseStatus = String;

/// Report of one end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EndpointReport {
    /// Bytes that its stack accepted.
    pub sent: u64,
    /// Bytes that its application read.
    pub received: u64,
    /// Their [`Checksum`], 16 hexadecimal digits.
    pub checksum: String,
    /// Close status of the connection.
    pub ended: CloseStatus,
}

impl EndpointReport {
    /// Report of an end that failed at the start.
    pub fn failed(ended: impl Into<String>) -> Self {
        Self { sent: 0, received: 0, checksum: Checksum::default().text(), ended: ended.into() }
    }
}

/// FNV-1a with 64 bits over all bytes of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checksum(u64);

impl Default for Checksum {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Checksum {
    /// Adds `bytes` to the stream.
    pub fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    /// Checksum of all bytes so far.
    pub const fn value(self) -> u64 {
        self.0
    }

    /// 16 hexadecimal digits.
    pub fn text(self) -> String {
        format!("{:016x}", self.0)
    }

    /// Checksum of the first `len` bytes of the pattern of `seed`.
    pub fn of_pattern(seed: u64, len: u64) -> Self {
        let (pattern, mut sum, mut at) = (Pattern::new(seed), Self::default(), 0);
        while at < len {
            let piece = pattern.at(at, usize::try_from(len - at).unwrap_or(usize::MAX));
            sum.update(piece);
            at += piece.len() as u64;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_round_trip() {
        let script = EndpointScript {
            open: OpenMode::Listen,
            tun: "peer0".to_owned(),
            local: "[fd78::2]:5201".parse().unwrap(),
            remote: "[fd78::1]:0".parse().unwrap(),
            send: 1 << 40,
            write: 100,
            seed: u64::MAX,
            after_fin: true,
            reset_at: 7,
            pause_ms: 8,
            window: 4096,
            limit_s: 60,
        };
        let args = script.to_args();
        assert_eq!(EndpointScript::from_args(&args), Ok(script));
        for missing in 0..args.len() {
            let mut fewer = args.clone();
            let gone = fewer.remove(missing);
            let error = EndpointScript::from_args(&fewer).unwrap_err();
            assert!(error.contains(gone.split('=').next().unwrap()), "{error}");
        }
    }

    /// Values that the peers in C and Go must also produce.
    #[test]
    fn the_checksum_of_the_pattern_is_fnv_1a() {
        let mut sum = Checksum::default();
        sum.update(b"foobar");
        assert_eq!(sum.text(), "85944171f73967e8");
        let whole = Checksum::of_pattern(3, 1_100_000);
        let mut pieces = Checksum::default();
        let pattern = Pattern::new(3);
        pieces.update(pattern.at(0, 1_048_573));
        pieces.update(pattern.at(0, 1_100_000 - 1_048_573));
        assert_eq!(whole, pieces);
    }
}
