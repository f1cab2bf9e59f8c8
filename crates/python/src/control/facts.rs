//! The facts that hooks get, as Python objects.

use lowtide_tcp::cc;
use lowtide_units::Duration;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::{IntoPyObjectExt, PyErr};

use crate::exception;

/// An argument of a constructor; None is the default.
fn argument<'py, T: FromPyObjectOwned<'py>>(
    name: &str,
    given: Option<Bound<'py, PyAny>>,
    default: T,
) -> PyResult<T> {
    let Some(value) = given else { return Ok(default) };
    let found: Result<T, PyErr> = value.extract().map_err(Into::into);
    found.map_err(|error| {
        let message = format!("{name}={value} is not possible: {}", error.value(value.py()));
        exception::of_request(value.py(), &message, None)
    })
}

/// An immutable class with keyword arguments, each with a default, and its conversion from the
/// crate's type.
macro_rules! facts {
    (
        $(#[$doc:meta])*
        $name:ident {
            $($(#[$field_doc:meta])* $field:ident: $type:ty = $default:expr,)*
        }
    ) => {
        $(#[$doc])*
        #[pyclass(frozen, get_all, module = "lowtide")]
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name {
            $($(#[$field_doc])* pub(super) $field: $type,)*
        }

        #[pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = (*, $($field = None),*))]
            #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
            fn new($($field: Option<Bound<'_, PyAny>>),*) -> PyResult<Self> {
                Ok(Self { $($field: argument(stringify!($field), $field, $default)?),* })
            }

            fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                let fields = [$((stringify!($field), self.$field.into_bound_py_any(py)?)),*];
                let mut text = Vec::new();
                for (name, value) in fields {
                    text.push(format!("{name}={}", value.repr()?));
                }
                Ok(format!(concat!("lowtide.", stringify!($name), "({})"), text.join(", ")))
            }
        }
    };
}

/// Parameters of the connection when it was established. Sizes are bytes, times picoseconds.
#[pyclass(frozen, module = "lowtide")]
pub(crate) struct CcSetup {
    /// Payload bytes of a full segment, excluding options.
    #[pyo3(get)]
    mss: u32,
    /// Initial window, bytes.
    #[pyo3(get)]
    initial_window: u64,
    /// Minimum window after a reaction, bytes. A timeout reduces it to one segment regardless.
    #[pyo3(get)]
    floor: u64,
    /// Minimum ssthresh after a reaction, bytes.
    #[pyo3(get)]
    ssthresh_floor: u64,
    /// RFC 3465 L, bytes: how many of an ACK's bytes may count in slow start.
    #[pyo3(get)]
    abc_limit: u64,
    /// ECN was negotiated; without it a control must ignore marks.
    #[pyo3(get)]
    ecn: bool,
    /// Time when the connection was established, ps.
    #[pyo3(get)]
    now: u64,
    /// Seed of `rng`, from the run's seed and the name of the flow.
    #[pyo3(get)]
    seed: u64,
    /// Smoothed round-trip time of the handshake, ps; None if it gave no sample.
    #[pyo3(get)]
    rtt: Option<u64>,
    generator: PyOnceLock<Py<PyAny>>,
}

#[pymethods]
impl CcSetup {
    #[new]
    #[pyo3(signature = (
        *, mss = None, initial_window = None, floor = None, ssthresh_floor = None,
        abc_limit = None, ecn = None, now = None, seed = None, rtt = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        mss: Option<Bound<'_, PyAny>>,
        initial_window: Option<Bound<'_, PyAny>>,
        floor: Option<Bound<'_, PyAny>>,
        ssthresh_floor: Option<Bound<'_, PyAny>>,
        abc_limit: Option<Bound<'_, PyAny>>,
        ecn: Option<Bound<'_, PyAny>>,
        now: Option<Bound<'_, PyAny>>,
        seed: Option<Bound<'_, PyAny>>,
        rtt: Option<u64>,
    ) -> PyResult<Self> {
        Ok(Self {
            mss: argument("mss", mss, 1448)?,
            initial_window: argument("initial_window", initial_window, 14_480)?,
            floor: argument("floor", floor, 2896)?,
            ssthresh_floor: argument("ssthresh_floor", ssthresh_floor, 0)?,
            abc_limit: argument("abc_limit", abc_limit, 2896)?,
            ecn: argument("ecn", ecn, true)?,
            now: argument("now", now, 0)?,
            seed: argument("seed", seed, 0)?,
            rtt,
            generator: PyOnceLock::new(),
        })
    }

    /// The random numbers of this connection: a `random.Random` with the seed `seed`.
    #[getter]
    fn rng<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let make = || -> PyResult<Py<PyAny>> {
            Ok(py.import("random")?.getattr("Random")?.call1((self.seed,))?.unbind())
        };
        self.generator.get_or_try_init(py, make).map(|made| made.bind(py).clone())
    }

    fn __repr__(&self) -> String {
        let Self { mss, initial_window, floor, ssthresh_floor, abc_limit, ecn, now, seed, .. } =
            self;
        let ecn = if *ecn { "True" } else { "False" };
        format!(
            "lowtide.CcSetup(mss={mss}, initial_window={initial_window}, floor={floor}, \
             ssthresh_floor={ssthresh_floor}, abc_limit={abc_limit}, ecn={ecn}, now={now}, \
             seed={seed})"
        )
    }
}

impl From<&cc::CcSetup> for CcSetup {
    fn from(setup: &cc::CcSetup) -> Self {
        // The rules are those of `CongestionWindow`, which Python does not have.
        let cc::CcSetup {
            mss,
            initial_window,
            floor,
            ssthresh_floor,
            abc_limit,
            ecn,
            now,
            seed,
            rtt,
            rules: _,
        } = *setup;
        let (now, generator) = (now.as_ps(), PyOnceLock::new());
        let rtt = rtt.map(Duration::as_ps);
        Self {
            mss,
            initial_window,
            floor,
            ssthresh_floor,
            abc_limit,
            ecn,
            now,
            seed,
            rtt,
            generator,
        }
    }
}

facts! {
    /// Facts about one incoming ACK. Bytes are payload bytes, times picoseconds; offsets count
    /// payload from zero. Tests build one with the facts that they need: the others are zero.
    AckSample {
        /// Time of arrival, ps.
        now: u64 = 0,
        /// SND.UNA after this ACK.
        snd_una: u64 = 0,
        /// SND.NXT (the highest byte ever sent, plus one).
        snd_nxt: u64 = 0,
        /// Bytes newly acknowledged cumulatively.
        acked_bytes: u64 = 0,
        /// Segments newly acknowledged cumulatively.
        acked_segments: u32 = 0,
        /// Bytes newly SACKed.
        sacked_bytes: u64 = 0,
        /// Segments newly SACKed.
        sacked_segments: u32 = 0,
        /// Bytes newly delivered according to this ACK, in order or not.
        delivered_bytes: u64 = 0,
        /// Segments newly delivered according to this ACK, in order or not.
        delivered_segments: u32 = 0,
        /// Bytes newly marked lost.
        lost_bytes: u64 = 0,
        /// Segments newly marked lost.
        lost_segments: u32 = 0,
        /// Bytes with CE according to the feedback decoder.
        ce_bytes: u64 = 0,
        /// Segments with CE according to the feedback decoder.
        ce_segments: u32 = 0,
        /// This ACK reports congestion (ECE on an ECN connection).
        ece: bool = false,
        /// Round-trip time measured by this ACK, ps; None on ambiguous ACKs (Karn).
        rtt: Option<u64> = None,
        /// One-way queueing delay from the delay option, ps, if negotiated (DX).
        queueing_delay: Option<u64> = None,
        /// Minimum round trip by the delay option, ps; present with `queueing_delay`.
        base_rtt: Option<u64> = None,
        /// This round trip by the delay option without host delays, ps; present with
        /// `queueing_delay`.
        fabric_delay: Option<u64> = None,
        /// Time in both hosts by the delay option, ps; present with `queueing_delay`.
        endpoint_delay: Option<u64> = None,
        /// Bytes in flight after this ACK (RFC 6675 pipe).
        in_flight: u64 = 0,
        /// Bytes in flight before it.
        prior_in_flight: u64 = 0,
        /// SND.WND: the peer's window, bytes.
        snd_wnd: u64 = 0,
        /// Sample of the delivery rate, over the flight of the last sent of the segments that this
        /// ACK delivers: bytes delivered on the connection when it was sent, bytes delivered since,
        /// the interval in ps, and whether the application had left cwnd unused before.
        rate_sample: Option<(u64, u64, u64, bool)> = None,
        /// The sender had no more data, so the window was not the limit.
        app_limited: bool = false,
        /// A round trip ended: data sent after the previous round's end is now acknowledged.
        round_ended: bool = false,
        /// The cut rule allows an ECN reduction on this ACK.
        may_reduce: bool = false,
        /// The window may grow: not in loss recovery, not frozen after a cut, and `growth-when`
        /// permits it.
        may_grow: bool = false,
        /// A timeout is being repaired; slow start counts with L = 1 (RFC 3465 §2.3).
        after_rto: bool = false,
        /// A delayed-ACK timer seems to have released this ACK.
        delack_suspected: bool = false,
        /// True if a delayed-ACK timer released it; known in simulators only.
        delack_timeout: Option<bool> = None,
    }
}

impl From<&cc::AckSample> for AckSample {
    fn from(ack: &cc::AckSample) -> Self {
        Self {
            now: ack.now.as_ps(),
            snd_una: ack.snd_una,
            snd_nxt: ack.snd_nxt,
            acked_bytes: ack.acked_bytes,
            acked_segments: ack.acked_segments,
            sacked_bytes: ack.sacked_bytes,
            sacked_segments: ack.sacked_segments,
            delivered_bytes: ack.delivered_bytes,
            delivered_segments: ack.delivered_segments,
            lost_bytes: ack.lost_bytes,
            lost_segments: ack.lost_segments,
            ce_bytes: ack.ce_bytes,
            ce_segments: ack.ce_segments,
            ece: ack.ece,
            rtt: ack.rtt.map(Duration::as_ps),
            queueing_delay: ack.queueing_delay.map(Duration::as_ps),
            base_rtt: ack.base_rtt.map(Duration::as_ps),
            fabric_delay: ack.fabric_delay.map(Duration::as_ps),
            endpoint_delay: ack.endpoint_delay.map(Duration::as_ps),
            in_flight: ack.in_flight,
            prior_in_flight: ack.prior_in_flight,
            snd_wnd: ack.snd_wnd,
            rate_sample: ack
                .rate_sample
                .map(|r| (r.prior_delivered, r.delivered, r.interval.as_ps(), r.app_limited)),
            app_limited: ack.app_limited,
            round_ended: ack.round_ended,
            may_reduce: ack.may_reduce,
            may_grow: ack.may_grow,
            after_rto: ack.after_rto,
            delack_suspected: ack.delack_suspected,
            delack_timeout: ack.delack_timeout,
        }
    }
}

facts! {
    /// Fast retransmit: a loss was found without a timeout.
    Loss {
        /// Time of the event, ps.
        now: u64 = 0,
        /// FlightSize before the first retransmission, bytes, or as `loss-from` has it.
        in_flight: u64 = 0,
        /// An ECN cut already happened in this window of data: the two must not add up.
        already_reduced: bool = false,
    }
}

facts! {
    /// Fast recovery is over.
    Recovered {
        /// Time of the event, ps.
        now: u64 = 0,
        /// FlightSize, bytes, which bounds the burst (RFC 6582 §3.2 step 3); 2**64 - 1 if PRR
        /// reduced the window, so that no burst is possible.
        in_flight: u64 = 0,
    }
}

facts! {
    /// The retransmission timer fired.
    Rto {
        /// Time of the event, ps.
        now: u64 = 0,
        /// The first timeout for this data: only this one lowers ssthresh (RFC 5681 §3.1).
        first: bool = true,
        /// FlightSize, bytes.
        in_flight: u64 = 0,
    }
}

facts! {
    /// Sending resumes after an idle time of at least one RTO (RFC 5681 §4.1).
    IdleRestart {
        /// Time of the event, ps.
        now: u64 = 0,
        /// Time without sending, ps.
        idle: u64 = 0,
    }
}

facts! {
    /// The last loss reaction was spurious: the state before it is to be restored.
    Undo {
        /// Time of the event, ps.
        now: u64 = 0,
    }
}
