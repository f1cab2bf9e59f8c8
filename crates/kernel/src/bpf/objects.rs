//! The compiled BPF programs and their loading.

use std::sync::{Mutex, MutexGuard, PoisonError};

use libbpf_rs::{ErrorKind, Object, ObjectBuilder, OpenObject, PrintLevel, set_print};

use crate::error::KernelError;

macro_rules! object {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o"))
    };
}

/// Selects a control for a cgroup.
pub(crate) static SELECT: &[u8] = object!("select");

/// Lists sockets.
pub(crate) static SOCKETS: &[u8] = object!("sockets");

/// Begin of libbpf's own messages.
const LIBBPF: &str = "libbpf:";

/// Map with the parameters of a program: its section.
pub(super) const PARAMS: &str = ".rodata.params";

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

/// Loads a program with `params` as its parameters.
pub(crate) fn open(
    name: &str,
    object: &[u8],
    params: Option<&[u8]>,
) -> Result<Object, KernelError> {
    let _one = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    messages().clear();
    set_print(Some((PrintLevel::Warn, |_, text| messages().push_str(&text))));
    let loaded = ObjectBuilder::default()
        .open_memory(object)
        .and_then(|opened| with_params(opened, params))
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

/// Returns the last line of the verifier's log that says what is wrong.
fn verifier_reason(messages: &str) -> Option<String> {
    let of_verifier = |line: &&str| {
        !line.is_empty() && ![LIBBPF, "-- END", "processed "].iter().any(|p| line.starts_with(p))
    };
    messages.lines().map(str::trim).rfind(of_verifier).map(str::to_owned)
}
