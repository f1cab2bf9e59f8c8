//! What passes a host's device, as a capture file.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use lowtide_live::privileges;
use lowtide_units::Instant;
use lowtide_wire::pcapng::{InterfaceId, PcapngWriter};

use crate::error::BottleneckError;

/// Bytes of each packet that are kept: all headers, whatever their options.
const SNAPLEN: usize = 128;
/// Bytes that are written at a time.
const WRITE_SIZE: usize = 64 << 10;

/// A capture that is being written, by a thread of its own: a disk must not hold up packets.
#[derive(Debug)]
pub(crate) struct Capture {
    writer: PcapngWriter,
    interface: InterfaceId,
    /// Until its thread is started.
    file: Option<File>,
    pieces: Option<Sender<Vec<u8>>>,
    thread: Option<JoinHandle<std::io::Result<()>>>,
    path: PathBuf,
    temp_path: PathBuf,
    /// The process has given up privileges.
    in_place: bool,
}

impl Capture {
    /// A capture at the host `name`. It is written under another name until [`Self::close`], unless `in_place`: to
    /// rename it may take privileges that are gone by then.
    pub(crate) fn create(path: &Path, name: &str, in_place: bool) -> Result<Self, BottleneckError> {
        let mut part = path.as_os_str().to_owned();
        if !in_place {
            part.push(".part");
        }
        let part = PathBuf::from(part);
        let wrong = |error| BottleneckError::Capture { path: path.display().to_string(), error };
        let file = Some(File::create(&part).map_err(wrong)?);
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
            temp_path: part,
            in_place,
        })
    }

    /// Starts its thread, which has the privileges that are left by now.
    pub(crate) fn start(&mut self) -> Result<(), BottleneckError> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        let in_place = self.in_place;
        let (pieces, waiting) = channel::<Vec<u8>>();
        let thread = std::thread::Builder::new()
            .name("lowtide-capture".to_owned())
            .spawn(move || {
                // It may have been started with what another thread still needs.
                if in_place {
                    privileges::drop_all().map_err(std::io::Error::other)?;
                }
                waiting.iter().try_for_each(|piece| file.write_all(&piece))
            })
            .map_err(|error| BottleneckError::Capture {
                path: self.path.display().to_string(),
                error,
            })?;
        (self.pieces, self.thread) = (Some(pieces), Some(thread));
        Ok(())
    }

    /// A packet passed at `at`.
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
            // A writer that has failed says so at the end.
            let _ = pieces.send(piece);
        }
    }

    /// Everything is in the file.
    pub(crate) fn close(mut self) -> Result<(), BottleneckError> {
        self.flush();
        self.pieces = None;
        let written = match self.thread.take().map(JoinHandle::join) {
            Some(Ok(written)) => written,
            _ => Err(std::io::Error::other("its thread panicked")),
        };
        let name =
            |()| if self.in_place { Ok(()) } else { std::fs::rename(&self.temp_path, &self.path) };
        written.and_then(name).map_err(|error| BottleneckError::Capture {
            path: self.path.display().to_string(),
            error,
        })
    }
}
