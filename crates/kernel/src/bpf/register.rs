//! Registers a control with the kernel.

use libbpf_rs::{ErrorKind, Link, MapCore as _, Object};

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
    let mut object = objects::open(name, object, None)?;
    Ok(Registration { _link: Box::new(attach(name, &mut object)?) })
}

/// Registers the control `name` of a loaded object. The kernel unregisters it after the link and
/// its pins are gone.
pub(super) fn attach(name: &str, object: &mut Object) -> Result<Link, KernelError> {
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
