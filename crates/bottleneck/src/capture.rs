//! Capture files of the packets of a host's device.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use lowtide_live::privileges;
use lowtide_units::Instant;
use lowtide_wire::pcapng::{InterfaceId, PcapngWriter};

use crate::error::BottleneckError;

/// Bytes kept per packet: all headers with any options.
const SNAPLEN: usize = 128;
/// Bytes per write.
const WRITE_SIZE: usize = 64 << 10;

/// A capture with a separate writer thread, so that the disk does not delay packets.
#[derive(Debug)]
pub(crate) struct Capture {
    writer: PcapngWriter,
    interface: InterfaceId,
    /// Set until the thread is started.
    file: Option<File>,
    pieces: Option<Sender<Vec<u8>>>,
    thread: Option<JoinHandle<std::io::Result<()>>>,
    path: PathBuf,
    temp_path: PathBuf,
    /// Whether the file is written in place, because the process drops privileges.
    in_place: bool,
}

impl Capture {
    /// Creates a capture for the host `name`. Unless `in_place`, it has a temporary name until
    /// [`Self::close`]: renaming may need privileges that are dropped by then.
    pub(crate) fn create(path: &Path, name: &str, in_place: bool) -> Result<Self, BottleneckError> {
        let mut temp_path = path.as_os_str().to_owned();
        if !in_place {
            temp_path.push(".part");
        }
        let temp_path = PathBuf::from(temp_path);
        let failed = |error| BottleneckError::Capture { path: path.display().to_string(), error };
        let file = Some(File::create(&temp_path).map_err(failed)?);
        let mut writer = PcapngWriter::new(concat!("lowtide ", env!("CARGO_PKG_VERSION")));
        let interface = writer.interface(name);
        let (pieces, thread) = (None, None);
        Ok(Self {
            writer,
            interface,
            file,
            pieces,
            thread,
            path: path.to_owned(),
            temp_path,
            in_place,
        })
    }

    /// Starts the writer thread, with the current privileges.
    pub(crate) fn start(&mut self) -> Result<(), BottleneckError> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        let in_place = self.in_place;
        let (pieces, received) = channel::<Vec<u8>>();
        let thread = std::thread::Builder::new()
            .name("lowtide-capture".to_owned())
            .spawn(move || {
                // The thread may have inherited capabilities that only another thread needs.
                if in_place {
                    privileges::drop_all().map_err(std::io::Error::other)?;
                }
                received.iter().try_for_each(|piece| file.write_all(&piece))
            })
            .map_err(|error| BottleneckError::Capture {
                path: self.path.display().to_string(),
                error,
            })?;
        (self.pieces, self.thread) = (Some(pieces), Some(thread));
        Ok(())
    }

    /// Records a packet that passed at `at`.
    pub(crate) fn packet(&mut self, at: Instant, bytes: &[u8]) {
        let kept = &bytes[..bytes.len().min(SNAPLEN)];
        self.writer.packet(self.interface, at, kept, bytes.len() as u32, "");
        if self.writer.pending() >= WRITE_SIZE {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let piece = self.writer.take();
        if let Some(pieces) = &self.pieces {
            // A write error is returned by `close`.
            let _ = pieces.send(piece);
        }
    }

    /// Writes all pending packets and renames the file.
    pub(crate) fn close(mut self) -> Result<(), BottleneckError> {
        self.flush();
        self.pieces = None;
        let written = match self.thread.take().map(JoinHandle::join) {
            Some(Ok(written)) => written,
            _ => Err(std::io::Error::other("its thread panicked")),
        };
        let rename =
            |()| if self.in_place { Ok(()) } else { std::fs::rename(&self.temp_path, &self.path) };
        written.and_then(rename).map_err(|error| BottleneckError::Capture {
            path: self.path.display().to_string(),
            error,
        })
    }
}
