//! The compiled BPF programs and their loading.

use std::sync::{Mutex, MutexGuard, PoisonError};

use libbpf_rs::{Object, ObjectBuilder, OpenObject, PrintLevel, set_print};

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

/// Map with the parameters of a program: its section.
const PARAMS: &str = ".rodata.params";

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
        let messages = messages();
        // The verifier also refuses with EACCES, and then says why.
        if error.kind() == libbpf_rs::ErrorKind::PermissionDenied && verifier(&messages).is_none() {
            return KernelError::NotPermitted { operation: "loading a BPF program" };
        }
        KernelError::Refused { name: name.to_owned(), reason: reason(&messages, &error) }
    })
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

/// The last line of the verifier's log that says what is wrong.
fn verifier(messages: &str) -> Option<&str> {
    messages.lines().map(str::trim).rfind(|line| {
        let others = ["libbpf:", "processed ", "-- "];
        !line.is_empty() && !others.iter().any(|start| line.starts_with(start))
    })
}

/// The verifier's reason, else libbpf's own error.
fn reason(messages: &str, error: &libbpf_rs::Error) -> String {
    verifier(messages).map_or_else(
        || {
            let own = messages.lines().rfind(|line| line.starts_with("libbpf:"));
            own.map_or_else(|| format!("{error:#}"), str::to_owned)
        },
        str::to_owned,
    )
}
