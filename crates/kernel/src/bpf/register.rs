//! Registers a control with the kernel.

use std::path::Path;

use libbpf_rs::{ErrorKind, Link, MapCore as _, MapHandle, Object};

use super::features::Features;
use super::{kernel, objects};
use crate::error::KernelError;
use crate::view::Registration;

/// Registers the control `name` of a compiled BPF object that is not one of ours, without pins.
/// Tests register variants of the controls with it.
///
/// # Errors
/// As [`crate::load`].
pub fn register_object(name: &str, object: &[u8]) -> Result<Registration, KernelError> {
    kernel::check("loading a BPF congestion control")?;
    let mut object = objects::open(name, object, None, false)?;
    Ok(Registration { _link: Box::new(attach(name, &mut object)?) })
}

/// Registers the control `name` of a loaded object until [`end_pinned`] of `pin`.
pub(super) fn attach_pinned(
    name: &str,
    object: &mut Object,
    pin: &Path,
) -> Result<(), KernelError> {
    let refused = |error: libbpf_rs::Error| objects::refused(name, &error);
    if Features::of_this_kernel().map_err(refused)?.links {
        return attach(name, object)?.pin(pin).map_err(refused);
    }
    // Pinned before it is registered: a loader that is killed in between leaves no registration
    // without a pin.
    if let Some(mut control) = object.maps_mut().find(|map| map.name() == name) {
        control.pin(pin).map_err(refused)?;
    }
    attach(name, object)?.disconnect();
    Ok(())
}

/// Ends the registration of the map that `pin` names. A link ends when its pin is removed.
pub(super) fn end_pinned(pin: &Path) -> Result<(), KernelError> {
    let refused = |error: libbpf_rs::Error| objects::refused(&pin.display().to_string(), &error);
    if !Features::of_this_kernel().map_err(refused)?.links {
        let map = MapHandle::from_pinned_path(pin).map_err(refused)?;
        // An error: its loader was killed before it registered it.
        let _ = map.delete(&0_u32.to_ne_bytes());
    }
    Ok(())
}

/// Registers the control `name` of a loaded object. The kernel unregisters it after the link and
/// its pins are gone.
fn attach(name: &str, object: &mut Object) -> Result<Link, KernelError> {
    let control = object.maps_mut().find(|map| map.name() == name);
    let mut control = control.ok_or_else(|| KernelError::Refused {
        name: name.to_owned(),
        reason: "the object has no control of that name".to_owned(),
    })?;
    control.attach_struct_ops().map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => KernelError::RegisteredElsewhere(name.to_owned()),
        _ => objects::refused(name, &error),
    })
}
