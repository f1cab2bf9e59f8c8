//! Decompression, by the first bytes of the file.

use std::error::Error;
use std::fmt;
use std::io::{self, BufRead as _, BufReader, Chain, Cursor, Read};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTANDARD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Beginnings of other formats, and advice.
const OTHERS: [(&[u8], &str); 6] = [
    (b"BZh", "bzip2; `bzip2 -dc FILE | lowtide analyze -`"),
    (b"\xfd7zXZ", "xz; `xz -dc FILE | lowtide analyze -`"),
    (b"\x04\x22\x4d\x18", "LZ4; `lz4 -dc FILE | lowtide analyze -`"),
    (b"PK\x03\x04", "zip; unpack it first"),
    (b"snoop\0\0\0", "snoop; `editcap -F pcapng FILE NEW` converts it"),
    (b"GMBU", "Microsoft Network Monitor; `editcap -F pcapng FILE NEW` converts it"),
];

type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

/// A stream that is decompressed if it begins as gzip or Zstandard does.
pub(crate) enum Decompressed<R> {
    Plain(Whole<R>),
    Gzip(Box<MultiGzDecoder<Whole<R>>>),
    Zstandard(Box<ZstandardFrames<Whole<R>>>),
}

impl<R> fmt::Debug for Decompressed<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain(_) => "Plain",
            Self::Gzip(_) => "Gzip",
            Self::Zstandard(_) => "Zstandard",
        })
    }
}

impl<R: Read> Decompressed<R> {
    pub(crate) fn new(mut stream: R) -> io::Result<Self> {
        let mut start = Vec::new();
        stream.by_ref().take(ZSTANDARD.len() as u64).read_to_end(&mut start)?;
        let (gzip, zstandard) = (start.starts_with(&GZIP), start.starts_with(&ZSTANDARD));
        let whole = Cursor::new(start).chain(stream);
        Ok(if gzip {
            Self::Gzip(Box::new(MultiGzDecoder::new(whole)))
        } else if zstandard {
            Self::Zstandard(Box::new(ZstandardFrames::new(whole)))
        } else {
            Self::Plain(whole)
        })
    }
}

impl<R: Read> Read for Decompressed<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(out),
            Self::Gzip(stream) => stream.read(out).map_err(|e| explained("gzip", &e)),
            Self::Zstandard(stream) => stream.read(out).map_err(|e| explained("Zstandard", &e)),
        }
    }
}

/// Returns the error with the name of the format.
fn explained(format: &str, error: &io::Error) -> io::Error {
    let mut causes =
        std::iter::successors(Some(error as &(dyn Error + 'static)), |e| (*e).source());
    let is_end = causes.any(|e| {
        e.downcast_ref().is_some_and(|e: &io::Error| e.kind() == io::ErrorKind::UnexpectedEof)
    });
    let fault = if is_end { "cut short".to_owned() } else { format!("damaged ({error})") };
    io::Error::other(format!(
        "the {format} data is {fault}; the offset is that of the decompressed data"
    ))
}

/// Returns the name of the format of a file that begins so, with advice.
pub(crate) fn other_format(start: &[u8]) -> Option<&'static str> {
    OTHERS.into_iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, name)| name)
}

/// Zstandard frames one after the other (RFC 8878 §3.1).
pub(crate) struct ZstandardFrames<R> {
    source: BufReader<R>,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: Read> ZstandardFrames<R> {
    fn new(source: R) -> Self {
        Self { source: BufReader::new(source), decoder: FrameDecoder::new(), in_frame: false }
    }
}

impl<R: Read> Read for ZstandardFrames<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.in_frame && self.decoder.can_collect() > 0 {
                return self.decoder.read(out);
            }
            if self.in_frame && !self.decoder.is_finished() {
                let step = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, step).map_err(io::Error::other)?;
                continue;
            }
            if self.in_frame {
                let stated = self.decoder.get_checksum_from_data();
                if stated.is_some() && stated != self.decoder.get_calculated_checksum() {
                    return Err(io::Error::other("a checksum differs"));
                }
            }
            self.in_frame = false;
            if self.source.fill_buf()?.is_empty() {
                return Ok(0);
            }
            match self.decoder.init(&mut self.source) {
                Ok(()) => self.in_frame = true,
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = self.source.by_ref().take(length.into());
                    io::copy(&mut skipped, &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }
}
