//! Error numbers: the names in scripts and the numbers of Linux.

use std::fmt;

macro_rules! errnos {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        /// An error number with the name and value of Linux on x86-64.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(clippy::upper_case_acronyms, reason = "the names of errno.h")]
        pub enum Errno {
            $(#[doc = $text] $name,)*
        }

        impl Errno {
            /// All error numbers.
            pub const ALL: &[Self] = &[$(Self::$name,)*];
            /// Name in `errno.h`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }
            /// Number on Linux.
            pub const fn number(self) -> i32 {
                match self { $(Self::$name => $number,)* }
            }
            /// Text of `strerror`.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

errnos! {
    EIO = 5, "Input/output error";
    EBADF = 9, "Bad file descriptor";
    EAGAIN = 11, "Resource temporarily unavailable";
    EACCES = 13, "Permission denied";
    EINVAL = 22, "Invalid argument";
    EPIPE = 32, "Broken pipe";
    ENOSYS = 38, "Function not implemented";
    EDESTADDRREQ = 89, "Destination address required";
    ENOPROTOOPT = 92, "Protocol not available";
    EPROTONOSUPPORT = 93, "Protocol not supported";
    EOPNOTSUPP = 95, "Operation not supported";
    EAFNOSUPPORT = 97, "Address family not supported by protocol";
    EADDRINUSE = 98, "Address already in use";
    EADDRNOTAVAIL = 99, "Cannot assign requested address";
    ENETUNREACH = 101, "Network is unreachable";
    ECONNABORTED = 103, "Software caused connection abort";
    ECONNRESET = 104, "Connection reset by peer";
    EISCONN = 106, "Transport endpoint is already connected";
    ENOTCONN = 107, "Transport endpoint is not connected";
    ETIMEDOUT = 110, "Connection timed out";
    ECONNREFUSED = 111, "Connection refused";
    EHOSTUNREACH = 113, "No route to host";
    EALREADY = 114, "Operation already in progress";
    EINPROGRESS = 115, "Operation now in progress";
}

impl Errno {
    /// Finds an error by name; `EWOULDBLOCK` is `EAGAIN`, as on Linux.
    pub fn named(name: &str) -> Option<Self> {
        let name = if name == "EWOULDBLOCK" { "EAGAIN" } else { name };
        Self::ALL.iter().copied().find(|e| e.name() == name)
    }

    /// Finds an error by number.
    pub fn numbered(number: i32) -> Option<Self> {
        Self::ALL.iter().copied().find(|e| e.number() == number)
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.text())
    }
}
