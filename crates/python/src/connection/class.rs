//! The class that users see.

use std::sync::{Arc, Mutex, TryLockError};

use lowtide_tcp::units::Instant;
use lowtide_tcp::{CloseReason, Config};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::end::End;
use super::info::ConnectionInfo;
use super::misuse::Misuse;
use super::segment::Segment;
use super::values::{duration, setting, state_name, text, whole};
use crate::control::RunGuard;

/// One end of a connection, which the caller drives: it moves the clock, and carries segments to
/// the other end, or drops or marks them.
///
///     client = lt.Connection.client(scheme="dctcp", profile="linux")
///     server = lt.Connection.server(scheme="dctcp", profile="linux")
///     for segment in client.transmit():
///         server.receive(segment)
///
/// Times are picoseconds since the start. Each end has its own clock: advance both. A call that is
/// not possible raises `RequestError`.
#[pyclass(frozen, module = "lowtide")]
#[derive(Debug)]
pub(crate) struct Connection {
    end: Mutex<End>,
    /// Takes the exceptions of a congestion control in Python.
    guard: Arc<RunGuard>,
}

impl Connection {
    fn made(
        py: Python<'_>,
        names: [Option<&Bound<'_, PyAny>>; 2],
        settings: Option<&Bound<'_, PyAny>>,
        open: impl FnOnce(Arc<Config>) -> Result<End, Misuse>,
    ) -> PyResult<Self> {
        let [scheme, profile] = names;
        let mut builder = Config::builder();
        if let Some(name) = scheme {
            builder = builder.scheme(&text("scheme", name).map_err(|misuse| misuse.raised(py))?);
        }
        if let Some(name) = profile {
            builder = builder.profile(&text("profile", name).map_err(|misuse| misuse.raised(py))?);
        }
        if let Some(given) = settings {
            let settings = given.cast::<PyDict>().map_err(|_| {
                let message = format!("settings is {given}: it must be a dict");
                Misuse::new(message, "as {\"rto-min\": \"5 ms\"}").raised(py)
            })?;
            for (name, value) in settings {
                builder = builder.set(&name.to_string(), &setting(&value)?);
            }
        }
        let opened = builder.build().map_err(Misuse::of).and_then(open);
        let end = opened.map_err(|misuse| misuse.raised(py))?;
        Ok(Self { end: Mutex::new(end), guard: Arc::default() })
    }

    /// Calls `work` on the end; its congestion control reports to this connection.
    fn with<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut End) -> Result<T, Misuse>,
    ) -> PyResult<T> {
        if self.guard.is_stopped() {
            let help = "make another connection";
            return Err(Misuse::new("its congestion control has failed", help).raised(py));
        }
        // Waiting could not end: a hook of the control runs inside of the call that has the lock.
        let mut end = match self.end.try_lock() {
            Ok(end) => end,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let help = "call it from one thread, and not from hooks of its control";
                return Err(Misuse::new("the connection is in use", help).raised(py));
            }
        };
        let done = self.guard.during(|| work(&mut end));
        drop(end);
        match self.guard.take() {
            Some(error) => Err(error),
            None => done.map_err(|misuse| misuse.raised(py)),
        }
    }
}

fn seed_or(py: Python<'_>, seed: Option<&Bound<'_, PyAny>>, default: u64) -> PyResult<u64> {
    let given = seed.map(|seed| whole("seed", seed, u64::MAX)).transpose();
    given.map(|seed| seed.unwrap_or(default)).map_err(|misuse| misuse.raised(py))
}

#[pymethods]
impl Connection {
    /// Opens a connection; its SYN is in `transmit()`.
    ///
    /// scheme: a name of `lt.schemes()`; without one, the congestion control of the profile
    /// profile: the stack: "rfc" (the default), "linux", "freebsd", ...
    /// settings: of `transport.sender` in scenario files: {"rto-min": "5 ms"}
    /// seed: equal seeds and equal calls give equal segments
    ///
    /// Raises `RequestError` for an unknown name, with the nearest ones, and an invalid value.
    #[staticmethod]
    #[pyo3(
        signature = (scheme = None, *, profile = None, settings = None, seed = None),
        text_signature = "(scheme=None, *, profile=None, settings=None, seed=1)"
    )]
    fn client(
        py: Python<'_>,
        scheme: Option<&Bound<'_, PyAny>>,
        profile: Option<&Bound<'_, PyAny>>,
        settings: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let seed = seed_or(py, seed, 1)?;
        let open = |config| End::client(config, seed).map_err(Misuse::of);
        Self::made(py, [scheme, profile], settings, open)
    }

    /// Waits for the SYN of a client, which `receive` takes. Arguments are those of `client`.
    #[staticmethod]
    #[pyo3(
        signature = (scheme = None, *, profile = None, settings = None, seed = None),
        text_signature = "(scheme=None, *, profile=None, settings=None, seed=2)"
    )]
    fn server(
        py: Python<'_>,
        scheme: Option<&Bound<'_, PyAny>>,
        profile: Option<&Bound<'_, PyAny>>,
        settings: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let seed = seed_or(py, seed, 2)?;
        Self::made(py, [scheme, profile], settings, |config| End::server(config, seed))
    }

    /// Virtual time of this end, ps.
    #[getter]
    fn now(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |end| Ok(end.now().as_ps()))
    }

    /// State as RFC 9293 names it: "LISTEN", "SYN-SENT", "ESTABLISHED", ...
    #[getter]
    fn state(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.with(py, |end| Ok(state_name(end.state())))
    }

    /// A snapshot: window, threshold, round-trip time, alpha, counters.
    #[getter]
    fn info(&self, py: Python<'_>) -> PyResult<ConnectionInfo> {
        self.with(py, |end| end.conn().map(|conn| ConnectionInfo::from(&*conn)))
    }

    /// Time of the next timer, ps; None if no timer is set.
    #[getter]
    fn next_timeout(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.with(py, |end| Ok(end.next_timeout().map(Instant::as_ps)))
    }

    /// Bytes that can be read.
    #[getter]
    fn readable(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |end| end.conn().map(|conn| conn.unread()))
    }

    /// Reason of the close: "closed", "reset by the peer", "timed out", ...; None while it is open.
    #[getter]
    fn close_reason(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        self.with(py, |end| Ok(end.close_reason().map(CloseReason::name)))
    }

    /// Moves the clock of this end. Timers on the way fire at their time.
    ///
    /// duration: text with its unit ("10 us") or picoseconds; without it, until the next timer
    #[pyo3(signature = (duration = None))]
    fn advance(&self, py: Python<'_>, duration: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let given = duration.map(self::duration).transpose().map_err(|misuse| misuse.raised(py))?;
        let mut interrupt = None;
        self.with(py, |end| {
            let step = given.map_or_else(|| end.until_timeout(), Ok)?;
            end.advance(step, || {
                interrupt = interrupt.take().or_else(|| py.check_signals().err());
                interrupt.is_some()
            })
        })?;
        interrupt.map_or(Ok(()), Err)
    }

    /// Returns the segments that this end has sent since the last call, in their order.
    fn transmit(&self, py: Python<'_>) -> PyResult<Vec<Segment>> {
        let sent = self.with(py, |end| Ok(end.take_sent()))?;
        let segment = |(at, segment): (Instant, _)| Segment { segment, sent_at: Some(at.as_ps()) };
        Ok(sent.into_iter().map(segment).collect())
    }

    /// Processes a segment that arrives now. One that is never given to it is lost.
    ///
    /// Returns None, or the reason if TCP rejects the segment: then an ACK or a RST may be in
    /// `transmit()`.
    fn receive(&self, py: Python<'_>, segment: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
        let segment = segment.cast::<Segment>().map_err(|_| {
            let help = "give one of `transmit()`, or lowtide.Segment(...)";
            Misuse::new(format!("{segment} is no segment"), help).raised(py)
        })?;
        let segment = segment.get().segment;
        self.with(py, |end| Ok(end.receive(segment)))
    }

    /// The application writes `n` bytes. Raises `RequestError` after `close`.
    fn write(&self, py: Python<'_>, n: &Bound<'_, PyAny>) -> PyResult<()> {
        let n = whole("n", n, u64::MAX).map_err(|misuse| misuse.raised(py))?;
        self.with(py, |end| end.write(n))
    }

    /// The application reads `n` bytes, or all that can be read. Returns their number.
    #[pyo3(signature = (n = None))]
    fn read(&self, py: Python<'_>, n: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
        let n = n.map(|n| whole("n", n, u64::MAX)).transpose();
        let n = n.map_err(|misuse| misuse.raised(py))?;
        self.with(py, |end| end.read(n))
    }

    /// Closes this end: FIN follows the written bytes.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, End::close)
    }

    /// Resets the connection.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, End::abort)
    }

    /// Returns what happened since the last call: "established", "readable", "writable",
    /// "peer-closed", "closed".
    fn events(&self, py: Python<'_>) -> PyResult<Vec<&'static str>> {
        self.with(py, |end| Ok(end.take_events()))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let shown = self.with(py, |end| {
            let (state, now) = (state_name(end.state()), end.now());
            Ok(format!("<lowtide.Connection: {state} at {} ps>", now.as_ps()))
        });
        shown.unwrap_or_else(|_| "<lowtide.Connection: in use, or failed>".to_owned())
    }
}
