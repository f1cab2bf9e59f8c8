//! Messages of the load protocol.

/// Magic bytes of a request: name and version of the protocol.
const MAGIC: [u8; 8] = *b"lowtide2";

/// Direction of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransferDirection {
    /// The client sends.
    Up,
    /// The server sends (`-R`).
    Down,
}

/// Amount of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// Number of bytes.
    Bytes(u64),
    /// Duration, milliseconds.
    Millis(u64),
}

/// A client's request for a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransferRequest {
    /// Direction of the data.
    pub direction: TransferDirection,
    /// Amount of data.
    pub amount: Amount,
    /// Seed of the data.
    pub seed: u64,
    /// Bytes per write.
    pub write_size: u32,
}

impl TransferRequest {
    /// Length in bytes.
    pub const LEN: usize = 32;

    /// Encodes the request.
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        let (kind, n) = match self.amount {
            Amount::Bytes(n) => (0, n),
            Amount::Millis(n) => (1, n),
        };
        out[..8].copy_from_slice(&MAGIC);
        out[8] = u8::from(self.direction == TransferDirection::Down);
        out[9] = kind;
        out[12..16].copy_from_slice(&self.write_size.to_be_bytes());
        out[16..24].copy_from_slice(&self.seed.to_be_bytes());
        out[24..].copy_from_slice(&n.to_be_bytes());
        out
    }

    /// Decodes a request; `None` if it is not one of this version.
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Option<Self> {
        let (head, numbers) = bytes.split_first_chunk::<16>()?;
        let write_size = u32::from_be_bytes(*head.last_chunk()?);
        let (seed, n) = numbers.split_first_chunk::<8>()?;
        let n = u64::from_be_bytes(*n.first_chunk()?);
        let direction = match head[8] {
            0 => TransferDirection::Up,
            1 => TransferDirection::Down,
            _ => return None,
        };
        let amount = match head[9] {
            0 => Amount::Bytes(n),
            1 => Amount::Millis(n),
            _ => return None,
        };
        let write_size = write_size.clamp(1, 1 << 24);
        let request = Self { direction, amount, seed: u64::from_be_bytes(*seed), write_size };
        (head[..8] == MAGIC).then_some(request)
    }
}

/// Length and checksum of data sent or received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataDigest {
    /// Bytes of data.
    pub bytes: u64,
    /// Their checksum ([`super::Digest`]).
    pub digest: u64,
}

impl DataDigest {
    /// Length in bytes.
    pub const LEN: usize = 16;

    /// Encodes the digest.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        out[..8].copy_from_slice(&self.bytes.to_be_bytes());
        out[8..].copy_from_slice(&self.digest.to_be_bytes());
        out
    }

    /// Decodes a digest.
    pub fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        let both = u128::from_be_bytes(bytes);
        Self { bytes: (both >> 64) as u64, digest: both as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_round_trip() {
        for (direction, amount) in [
            (TransferDirection::Up, Amount::Bytes(u64::MAX)),
            (TransferDirection::Down, Amount::Millis(7)),
        ] {
            let request =
                TransferRequest { direction, amount, seed: 1 << 63 | 5, write_size: 131_072 };
            assert_eq!(TransferRequest::from_bytes(&request.to_bytes()), Some(request));
        }
        let digest = DataDigest { bytes: 12, digest: u64::MAX - 1 };
        assert_eq!(DataDigest::from_bytes(digest.to_bytes()), digest);
    }

    #[test]
    fn other_protocols_are_rejected() {
        let request = TransferRequest {
            direction: TransferDirection::Up,
            amount: Amount::Bytes(1),
            seed: 0,
            write_size: 1,
        }
        .to_bytes();
        for at in [0, 7, 8, 9] {
            let mut other = request;
            other[at] ^= 0x55;
            assert_eq!(TransferRequest::from_bytes(&other), None, "byte {at}");
        }
        assert_eq!(
            TransferRequest::from_bytes(
                b"GET / HTTP/1.1\r\nHost: example\r\n\r\n".first_chunk().unwrap()
            ),
            None
        );
    }
}
