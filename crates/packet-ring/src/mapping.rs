//! Memory that is shared with the kernel.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU32;

/// A mapping of a descriptor, readable and writable.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to this value alone, and no thread-local state is involved.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `len` bytes of `fd`.
    pub(crate) fn new(fd: BorrowedFd<'_>, len: usize) -> io::Result<Self> {
        Self::map(libc::MAP_SHARED, fd.as_raw_fd(), len)
    }

    /// Memory without a descriptor, in which tests play the kernel.
    #[cfg(test)]
    pub(crate) fn anonymous(len: usize) -> io::Result<Self> {
        Self::map(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, len)
    }

    fn map(flags: i32, fd: i32, len: usize) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: without MAP_FIXED and with a null address the kernel chooses unused addresses, so
        // no memory of this process changes. A bad descriptor or length is an error.
        let start = unsafe { libc::mmap(ptr::null_mut(), len, protection, flags, fd, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, len })
    }

    /// The four aligned bytes at `offset`, which the kernel may change at any time.
    pub(crate) fn atomic(&self, offset: usize) -> Option<&AtomicU32> {
        let inside = offset.checked_add(size_of::<AtomicU32>())? <= self.len;
        if !inside || !offset.is_multiple_of(align_of::<AtomicU32>()) {
            return None;
        }
        // SAFETY: the bytes are inside of the mapping, which lives as long as `self`. The mapping
        // starts at a page, so they are aligned. This crate and the kernel access them atomically
        // only, or read plain bytes while the slot is ours and no one writes to it.
        Some(unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(offset).cast()) })
    }

    /// The bytes of `range`.
    ///
    /// # Safety
    /// Neither the kernel nor another thread may write to them during the borrow.
    pub(crate) unsafe fn bytes(&self, range: Range<usize>) -> Option<&[u8]> {
        if range.start > range.end || range.end > self.len {
            return None;
        }
        // SAFETY: the bytes are inside of the mapping, which lives as long as `self`, and its pages
        // are initialised by the kernel. The caller guarantees that no one writes to them.
        Some(unsafe {
            std::slice::from_raw_parts(self.start.as_ptr().add(range.start), range.len())
        })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is the one that `mmap` returned. All borrows of it have ended, because
        // they borrow `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}
