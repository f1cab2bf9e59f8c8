//! A writer for pcapng capture files (draft-ietf-opsawg-pcapng), readable by Wireshark and tcpdump.
//!
//! Contract: little-endian, one section, interfaces of link type RAW (each packet begins with its
//! IPv4 or IPv6 header). Timestamps are in nanoseconds: virtual time is truncated, because readers
//! misinterpret picoseconds. The bytes are buffered in memory; [`PcapngWriter::take`] returns them
//! in parts, so a long capture need not fit.

use alloc::vec::Vec;

use lowtide_units::Instant;

// Block types.
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// "The length of the section is not stated."
const UNKNOWN_LENGTH: u64 = u64::MAX;
/// `LINKTYPE_RAW`: the packet begins with an IP header.
const LINKTYPE_RAW: u16 = 101;

// Options; numbered per block type.
const END_OF_OPTIONS: u16 = 0;
const COMMENT: u16 = 1;
const INTERFACE_NAME: u16 = 2;
const USER_APPLICATION: u16 = 4;
const TIME_RESOLUTION: u16 = 9;

/// Maximum bytes kept of one packet; readers reject more.
const SNAP_LEN: u32 = 262_144;

/// Ten to the power of minus nine: nanoseconds.
const NANOSECONDS: u8 = 9;

/// One interface of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InterfaceId(u32);

/// Writes one capture.
#[derive(Clone, Debug)]
pub struct PcapngWriter {
    out: Vec<u8>,
    interfaces: u32,
}

impl PcapngWriter {
    /// Begins a capture written by `application`.
    pub fn new(application: &str) -> Self {
        let mut writer = Self { out: Vec::new(), interfaces: 0 };
        let block = writer.begin(SECTION);
        writer.put(&BYTE_ORDER_MAGIC.to_le_bytes());
        writer.put(&1_u16.to_le_bytes()); // major version
        writer.put(&0_u16.to_le_bytes()); // minor version
        writer.put(&UNKNOWN_LENGTH.to_le_bytes());
        writer.option(USER_APPLICATION, application.as_bytes());
        writer.option(END_OF_OPTIONS, &[]);
        writer.end(block);
        writer
    }

    /// Adds an interface (a port, a host) called `name`.
    pub fn interface(&mut self, name: &str) -> InterfaceId {
        let block = self.begin(INTERFACE);
        self.put(&LINKTYPE_RAW.to_le_bytes());
        self.put(&0_u16.to_le_bytes()); // reserved
        self.put(&SNAP_LEN.to_le_bytes());
        self.option(INTERFACE_NAME, name.as_bytes());
        self.option(TIME_RESOLUTION, &[NANOSECONDS]);
        self.option(END_OF_OPTIONS, &[]);
        self.end(block);
        let id = InterfaceId(self.interfaces);
        self.interfaces += 1;
        id
    }

    /// Adds a packet of `original_len` bytes, of which `captured` are known (262144 are kept), seen
    /// at `at`. `comment` is stored with it; an empty one is omitted.
    pub fn packet(
        &mut self,
        interface: InterfaceId,
        at: Instant,
        captured: &[u8],
        original_len: u32,
        comment: &str,
    ) {
        let len = u32::try_from(captured.len()).map_or(SNAP_LEN, |len| len.min(SNAP_LEN));
        let captured = &captured[..len as usize];
        let [t0, t1, t2, t3, t4, t5, t6, t7] = (at.as_ps() / 1_000).to_be_bytes();
        let block = self.begin(ENHANCED_PACKET);
        self.put(&interface.0.to_le_bytes());
        self.put(&u32::from_be_bytes([t0, t1, t2, t3]).to_le_bytes());
        self.put(&u32::from_be_bytes([t4, t5, t6, t7]).to_le_bytes());
        self.put(&len.to_le_bytes());
        self.put(&original_len.max(len).to_le_bytes());
        self.put(captured);
        self.align();
        if !comment.is_empty() {
            self.option(COMMENT, comment.as_bytes());
            self.option(END_OF_OPTIONS, &[]);
        }
        self.end(block);
    }

    /// The bytes written since the last call; concatenated they are the file.
    pub fn take(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.out)
    }

    /// Number of bytes that [`Self::take`] would return.
    pub fn pending(&self) -> usize {
        self.out.len()
    }

    fn put(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Blocks begin at multiples of four within the file, and `take` splits only between blocks.
    fn align(&mut self) {
        self.out.resize(self.out.len().next_multiple_of(4), 0);
    }

    /// Begins a block and returns its offset; [`Self::end`] writes its length.
    fn begin(&mut self, kind: u32) -> usize {
        let start = self.out.len();
        self.put(&kind.to_le_bytes());
        self.put(&[0; 4]);
        start
    }

    /// Writes the length of the block at `start`, both at its beginning and at its end.
    fn end(&mut self, start: usize) {
        let len = self.out.len() - start + 4;
        let len = u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes();
        self.out[start + 4..start + 8].copy_from_slice(&len);
        self.put(&len);
    }

    /// Writes one option. A text above 65535 bytes is truncated at a character boundary.
    fn option(&mut self, code: u16, value: &[u8]) {
        let mut kept = value.len().min(usize::from(u16::MAX));
        // Continuation bytes of UTF-8 are 10xxxxxx.
        while kept < value.len() && kept > 0 && value[kept] & 0xc0 == 0x80 {
            kept -= 1;
        }
        let len = u16::try_from(kept).unwrap_or(u16::MAX);
        self.put(&code.to_le_bytes());
        self.put(&len.to_le_bytes());
        self.put(&value[..kept]);
        self.align();
    }
}
