//! A segment as an immutable object.

use lowtide_tcp::wire::{self, Addresses, Ecn, SeqNum, packet};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::end::{CLIENT, SERVER};
use super::fields::changed;
use super::misuse::Misuse;
use super::values::{ecn_name, flag_names};

/// A TCP segment with the ECN codepoint of its IP header. It does not change: `replace` and `mark`
/// return another one. The payload is a length. Without arguments every field is zero.
#[pyclass(frozen, eq, module = "lowtide")]
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Segment {
    pub(super) segment: wire::Segment,
    /// When its sender sent it, ps; None for one made by hand.
    #[pyo3(get)]
    pub(super) sent_at: Option<u64>,
}

impl Segment {
    fn with(&self, py: Python<'_>, changes: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let Some(changes) = changes else { return Ok(self.clone()) };
        let segment = changed(&self.segment, changes).map_err(|misuse| misuse.raised(py))?;
        Ok(Self { segment, ..*self })
    }
}

#[pymethods]
impl Segment {
    #[new]
    #[pyo3(
        signature = (**fields),
        text_signature = "(*, seq=0, ack=0, flags='', window=0, payload_len=0, ecn='not-ect', \
                          mss=None, window_scale=None, sack_permitted=False, sack=(), \
                          timestamps=None, src_port=0, dst_port=0)"
    )]
    fn new(py: Python<'_>, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self { segment: wire::Segment::default(), sent_at: None }.with(py, fields)
    }

    /// Returns the segment of an IPv4 or IPv6 packet. Raises `RequestError` for other bytes.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, packet: &Bound<'_, PyAny>) -> PyResult<Self> {
        let bytes: Vec<u8> = packet.extract().map_err(|_| {
            let message = format!("packet is a {}: it must be bytes", packet.get_type());
            Misuse::of(message).raised(py)
        })?;
        let (_, segment, _) =
            packet::parse(&bytes).map_err(|error| Misuse::of(error).raised(py))?;
        Ok(Self { segment, sent_at: None })
    }

    /// Returns the segment with other values of the given fields.
    #[pyo3(signature = (**fields))]
    fn replace(&self, py: Python<'_>, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        self.with(py, fields)
    }

    /// Returns the segment with CE, as a switch marks it. Raises `RequestError` for a segment
    /// without ECT, which a switch drops instead; `replace(ecn="ce")` marks any.
    fn mark(&self, py: Python<'_>) -> PyResult<Self> {
        if !self.segment.ecn.is_capable() {
            let help = "switches mark segments with ECT only: ask `segment.is_ect` first";
            return Err(Misuse::new("the segment is not ECT", help).raised(py));
        }
        Ok(Self { segment: wire::Segment { ecn: Ecn::Ce, ..self.segment }, ..*self })
    }

    /// Returns the IPv4 packet between 10.0.0.1 (client) and 10.0.0.2 (server), with zeros as
    /// payload.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let from_server = self.segment.src_port == SERVER.port;
        let (from, to) = if from_server { (SERVER, CLIENT) } else { (CLIENT, SERVER) };
        let addresses = Addresses::V4 { src: from.ip, dst: to.ip };
        let payload = vec![0; self.segment.payload_len as usize];
        let mut bytes = vec![0; packet::MAX_HEADERS_LEN + payload.len()];
        let len = packet::emit(&addresses, &self.segment, &payload, &mut bytes);
        let len = len.map_err(|error| Misuse::of(error).raised(py))?;
        Ok(PyBytes::new(py, &bytes[..len]))
    }

    /// Sequence number of the first byte, or of the SYN.
    #[getter]
    const fn seq(&self) -> u32 {
        self.segment.seq.raw()
    }

    /// Next sequence number expected from the peer; valid with ACK only.
    #[getter]
    const fn ack(&self) -> u32 {
        self.segment.ack.raw()
    }

    /// Names of the control bits that are set: FIN, SYN, RST, PSH, ACK, URG, ECE, CWR, AE.
    #[getter]
    fn flags(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let names = pyo3::types::PyTuple::new(py, flag_names(self.segment.flags))?;
        Ok(names.into_any().unbind())
    }

    /// The window field, before scaling.
    #[getter]
    const fn window(&self) -> u16 {
        self.segment.window
    }

    /// Payload bytes.
    #[getter]
    const fn payload_len(&self) -> u32 {
        self.segment.payload_len
    }

    /// ECN codepoint: "not-ect", "ect0", "ect1" or "ce".
    #[getter]
    fn ecn(&self) -> &'static str {
        ecn_name(self.segment.ecn)
    }

    /// A switch may mark it: ECT(0), ECT(1) or CE.
    #[getter]
    const fn is_ect(&self) -> bool {
        self.segment.ecn.is_capable()
    }

    /// Maximum segment size of a SYN, bytes.
    #[getter]
    const fn mss(&self) -> Option<u16> {
        self.segment.options.mss
    }

    /// Window scale of a SYN, a shift count.
    #[getter]
    const fn window_scale(&self) -> Option<u8> {
        self.segment.options.window_scale
    }

    /// SACK permitted, on a SYN.
    #[getter]
    const fn sack_permitted(&self) -> bool {
        self.segment.options.sack_permitted
    }

    /// SACK blocks: pairs of first sequence number and the one after the last.
    #[getter]
    fn sack(&self) -> Vec<(u32, u32)> {
        let raw = |(start, end): &(SeqNum, SeqNum)| (start.raw(), end.raw());
        self.segment.options.sack.as_slice().iter().map(raw).collect()
    }

    /// Timestamps: value and echo, in ticks of their senders.
    #[getter]
    fn timestamps(&self) -> Option<(u32, u32)> {
        self.segment.options.timestamps.map(|stamps| (stamps.value, stamps.echo))
    }

    /// Source port; 49152 of the client, 80 of the server.
    #[getter]
    const fn src_port(&self) -> u16 {
        self.segment.src_port
    }

    /// Destination port.
    #[getter]
    const fn dst_port(&self) -> u16 {
        self.segment.dst_port
    }

    fn __repr__(&self) -> String {
        let segment = &self.segment;
        format!(
            "lowtide.Segment(seq={}, ack={}, flags='{}', window={}, payload_len={}, ecn='{}')",
            segment.seq.raw(),
            segment.ack.raw(),
            flag_names(segment.flags).join(" "),
            segment.window,
            segment.payload_len,
            ecn_name(segment.ecn),
        )
    }
}
