//! The compiled BPF programs and their loading.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use libbpf_rs::{ErrorKind, MapType, Object, ObjectBuilder, OpenObject, PrintLevel, set_print};

use super::features::Features;
use crate::error::KernelError;

macro_rules! object {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o"))
    };
}

/// Selects a control for a cgroup.
pub(crate) static SELECT: &[u8] = object!("select");

/// Marks at the output ports of a switch.
pub(crate) static BOTTLENECK: &[u8] = object!("bottleneck");

/// Lists sockets.
pub(crate) static SOCKETS: &[u8] = object!("sockets");

/// Begin of libbpf's own messages.
const LIBBPF: &str = "libbpf:";

/// Map with the parameters of a program: its section.
pub(super) const PARAMS: &str = ".rodata.params";

/// `flags` and `cwnd_event_tx_start` in `struct tcp_congestion_ops` of `kernel/kernel.bpf.h`.
const FLAGS: Range<usize> = 0..4;
const TX_START: Range<usize> = 8..16;

/// `TCP_CONG_NON_RESTRICTED` of `include/net/tcp.h`.
const NON_RESTRICTED: u32 = 1;

/// Returns the program of a twin.
pub(crate) fn control(name: &str) -> Option<&'static [u8]> {
    Some(match name {
        "lt_dctcp" => object!("lt_dctcp"),
        "lt_odctcp" => object!("lt_odctcp"),
        "lt_odctcp_rcv" => object!("lt_odctcp_rcv"),
        "lt_odctcp_snd" => object!("lt_odctcp_snd"),
        "lt_tdctcp" => object!("lt_tdctcp"),
        _ => return None,
    })
}

/// Messages of libbpf during one load; it has one callback for the process.
static MESSAGES: Mutex<String> = Mutex::new(String::new());

/// One load at a time, so that messages are those of one program.
static LOADING: Mutex<()> = Mutex::new(());

fn messages() -> MutexGuard<'static, String> {
    MESSAGES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Loads a program with `params` as its parameters. Every user may choose an `unrestricted`
/// control.
pub(crate) fn open(
    name: &str,
    object: &[u8],
    params: Option<&[u8]>,
    unrestricted: bool,
) -> Result<Object, KernelError> {
    let _one = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    messages().clear();
    set_print(Some((PrintLevel::Warn, |_, text| messages().push_str(&text))));
    let loaded = ObjectBuilder::default()
        .open_memory(object)
        .and_then(|opened| with_params(opened, params))
        .and_then(|opened| for_this_kernel(opened, unrestricted))
        .and_then(OpenObject::load);
    set_print(None);
    loaded.map_err(|error| {
        let log = messages();
        let denied = error.kind() == ErrorKind::PermissionDenied;
        match verifier_reason(&log) {
            Some(reason) => KernelError::Refused { name: name.to_owned(), reason },
            // The verifier has the same error number, but it says why.
            None if denied => KernelError::NotPermitted { operation: "loading a BPF program" },
            None => match log.lines().rfind(|line| line.starts_with(LIBBPF)) {
                Some(line) => {
                    KernelError::Refused { name: name.to_owned(), reason: line.to_owned() }
                }
                None => refused(name, &error),
            },
        }
    })
}

/// Returns the error for a program that libbpf or the kernel refused without a message.
pub(super) fn refused(name: &str, error: &libbpf_rs::Error) -> KernelError {
    KernelError::Refused { name: name.to_owned(), reason: format!("{error:#}") }
}

fn with_params(
    mut opened: OpenObject,
    params: Option<&[u8]>,
) -> Result<OpenObject, libbpf_rs::Error> {
    if let Some(params) = params {
        for mut map in opened.maps_mut() {
            if map.name() == PARAMS {
                map.set_initial_value(params)?;
            }
        }
    }
    Ok(opened)
}

/// Sets the flags of the control, and removes what the kernel's struct lacks: libbpf refuses a
/// member that the kernel does not have, unless it is zero.
fn for_this_kernel(
    mut opened: OpenObject,
    unrestricted: bool,
) -> Result<OpenObject, libbpf_rs::Error> {
    for mut map in opened.maps_mut().filter(|map| map.map_type() == MapType::StructOps) {
        let features = Features::of_this_kernel()?;
        map.set_map_flags(features.map_flags(map.map_flags()))?;
        let Some(ops) = map.initial_value_mut() else { continue };
        if let Some(flags) = ops.get_mut(FLAGS).filter(|_| unrestricted) {
            flags.iter_mut().zip(NON_RESTRICTED.to_ne_bytes()).for_each(|(byte, bit)| *byte |= bit);
        }
        if let Some(tx_start) = ops.get_mut(TX_START).filter(|_| !features.tx_start) {
            tx_start.fill(0);
        }
    }
    Ok(opened)
}

/// Returns the last line of the verifier's log that says what is wrong.
fn verifier_reason(messages: &str) -> Option<String> {
    let of_verifier = |line: &&str| {
        !line.is_empty() && ![LIBBPF, "-- END", "processed "].iter().any(|p| line.starts_with(p))
    };
    messages.lines().map(str::trim).rfind(of_verifier).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As libbpf 1.7 passes on what Linux 6.18 says of `kernel/tests/broken.bpf.c`.
    const LOG: &str = "\
libbpf: prog 'broken_cong_control': BPF program load failed: -EACCES
libbpf: prog 'broken_cong_control': -- BEGIN PROG LOAD LOG --
Global function broken_cong_control() doesn't return scalar. Only those are supported.
0: R1=ctx() R10=fp0
; void BPF_PROG(broken_cong_control, struct sock *sk, __u32 ack, int flag, @ broken.bpf.c:20
0: (79) r1 = *(u64 *)(r1 +0)
func 'cong_control' arg0 has btf_id 2953 type STRUCT 'sock'
1: R1=trusted_ptr_tcp_sock()
1: (b4) w2 = 0                        ; R2=0
; lt_tcp(sk)->snd_una = 0; @ broken.bpf.c:23
2: (63) *(u32 *)(r1 +1672) = r2
no write support to tcp_sock at off 1672
processed 3 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0
-- END PROG LOAD LOG --
libbpf: prog 'broken_cong_control': failed to load: -EACCES
libbpf: failed to load object '55f11f072b50-8d80'
";

    #[test]
    fn the_reason_is_the_verifiers_last_line() {
        let reason = verifier_reason(LOG);
        assert_eq!(reason.as_deref(), Some("no write support to tcp_sock at off 1672"));
        // Without privilege nothing reaches the verifier.
        assert_eq!(verifier_reason("libbpf: Error in bpf_object__probe_loading(): -EPERM\n"), None);
    }
}
