//! Giving up what root can do, once devices are open.
//!
//! Contract: interfaces, addresses, namespaces and raw sockets take privileges to make and none to use. [`reduce`] is
//! called between the two, before threads that read packets are started: capabilities are a thread's own, and
//! a new thread has those of the one that starts it. Afterwards neither this thread nor one that it starts, nor a
//! program that either of them executes, gets them back (`no_new_privs`). Two things may be done a moment later and then
//! given up ([`drop_all`]), in each thread that has them: see [`RetainedCapability`].
//!
//! Without a [`User`] the process goes on as root without capabilities (capabilities(7)): it can no longer configure the
//! machine, but it may still write to files that root owns. A user of its own closes that as well.

use std::io;

use caps::errors::CapsError;
use caps::{CapSet, Capability, CapsHashSet};
use nix::sys::prctl;
use nix::unistd::{Gid, Group, Uid, User as Account, setgroups, setresgid, setresuid};

use crate::error::LiveError;

/// A user and a group to go on as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct User {
    uid: Uid,
    gid: Gid,
}

impl User {
    /// `NAME`, `UID`, or either with `:GROUP`, a name or a number. Without a group it is that of the account, or
    /// the number of the user where there is no account.
    ///
    /// # Errors
    /// [`LiveError::User`]: no such account or group, or root.
    pub fn parse(text: &str) -> Result<Self, LiveError> {
        let bad = || LiveError::User(text.to_owned());
        let (user, group) = match text.split_once(':') {
            Some((user, group)) => (user, Some(group)),
            None => (text, None),
        };
        let account = match user.parse() {
            Ok(uid) => Account::from_uid(Uid::from_raw(uid)).ok().flatten(),
            Err(_) => Account::from_name(user).ok().flatten(),
        };
        let uid = match &account {
            Some(account) => account.uid,
            None => Uid::from_raw(user.parse().map_err(|_| bad())?),
        };
        let gid = match (group, account) {
            (Some(group), _) => match group.parse() {
                Ok(gid) => Gid::from_raw(gid),
                Err(_) => Group::from_name(group).ok().flatten().ok_or_else(bad)?.gid,
            },
            (None, Some(account)) => account.gid,
            (None, None) => Gid::from_raw(uid.as_raw()),
        };
        // The highest number means "leave it as it is" to the system.
        let none = uid.as_raw() == u32::MAX || gid.as_raw() == u32::MAX;
        if uid.is_root() || none { Err(bad()) } else { Ok(Self { uid, gid }) }
    }
}

/// What is done after [`reduce`] and needs a capability for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetainedCapability {
    /// SCHED_FIFO of a thread (CAP_SYS_NICE).
    Priority,
    /// Listening on a port of the kernel below 1024 (CAP_NET_BIND_SERVICE).
    LowPorts,
}

impl RetainedCapability {
    const fn capability(self) -> Capability {
        match self {
            Self::Priority => Capability::CAP_SYS_NICE,
            Self::LowPorts => Capability::CAP_NET_BIND_SERVICE,
        }
    }
}

fn failed(error: CapsError) -> LiveError {
    LiveError::system("give up privileges", io::Error::other(error))
}

/// Gives up everything but what `later` names, and becomes `user`, if one is named. Without privileges it does no
/// more than forbid new ones.
///
/// # Errors
/// Becoming a user takes root. What cannot be given up is an error as well.
pub fn drop_except(user: Option<&User>, later: &[RetainedCapability]) -> Result<(), LiveError> {
    // Dropping from the bounding set takes a capability itself. Without it `no_new_privs` does as much.
    if caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP).map_err(failed)? {
        let mut all = Vec::from_iter(caps::runtime::thread_all_supported());
        all.sort_by_key(Capability::index);
        for capability in all {
            caps::drop(None, CapSet::Bounding, capability).map_err(failed)?;
        }
    }
    if let Some(User { uid, gid }) = user {
        let what = || format!("become user {uid}");
        let system = |e: nix::Error| LiveError::system(what(), e.into());
        prctl::set_keepcaps(!later.is_empty()).map_err(system)?;
        setgroups(&[]).map_err(system)?;
        setresgid(*gid, *gid, *gid).map_err(system)?;
        setresuid(*uid, *uid, *uid).map_err(system)?;
        prctl::set_keepcaps(false).map_err(system)?;
    }
    retain_only(later)?;
    prctl::set_no_new_privs().map_err(|e| LiveError::system("forbid new privileges", e.into()))
}

/// Gives up the rest, in this thread.
///
/// # Errors
/// What cannot be given up.
pub fn drop_all() -> Result<(), LiveError> {
    retain_only(&[])
}

/// Whether this thread has any capability.
///
/// # Errors
/// The system does not tell.
pub fn has_capabilities() -> Result<bool, LiveError> {
    for set in [CapSet::Effective, CapSet::Permitted, CapSet::Inheritable] {
        if !caps::read(None, set).map_err(failed)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn retain_only(later: &[RetainedCapability]) -> Result<(), LiveError> {
    let permitted = caps::read(None, CapSet::Permitted).map_err(failed)?;
    let wanted: CapsHashSet = later.iter().map(|l| l.capability()).collect();
    let kept = &permitted & &wanted;
    // An old kernel knows no ambient set.
    if caps::runtime::ambient_set_supported().is_ok() {
        caps::clear(None, CapSet::Ambient).map_err(failed)?;
    }
    caps::clear(None, CapSet::Inheritable).map_err(failed)?;
    caps::set(None, CapSet::Effective, &kept).map_err(failed)?;
    caps::set(None, CapSet::Permitted, &kept).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_names_or_numbers_and_never_root() {
        let both = |text: &str| User::parse(text).map(|u| (u.uid.as_raw(), u.gid.as_raw()));
        assert_eq!(both("54321").unwrap(), (54_321, 54_321));
        assert_eq!(both("54321:7").unwrap(), (54_321, 7));
        for bad in [
            "0",
            "root",
            "0:5",
            "nobody-of-that-name",
            "",
            ":",
            "5:",
            "-1",
            "4294967295",
            "5:4294967295",
        ] {
            let error = User::parse(bad).unwrap_err();
            assert!(matches!(error, LiveError::User(_)), "{bad}: {error}");
        }
    }

    fn effective_capabilities() -> CapsHashSet {
        caps::read(None, CapSet::Effective).unwrap()
    }

    /// Capabilities are a thread's own: those of this test give up what they have, the rest of the process does not.
    #[test]
    fn dropped_capabilities_are_not_regained() {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let nice = CapsHashSet::from([Capability::CAP_SYS_NICE]);
                let expected = &effective_capabilities() & &nice;
                drop_except(None, &[RetainedCapability::Priority]).unwrap();
                assert_eq!(effective_capabilities(), expected);
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        assert_eq!(
                            effective_capabilities(),
                            expected,
                            "a new thread has what its parent has"
                        );
                        drop_all().unwrap();
                        assert!(!has_capabilities().unwrap());
                    });
                });
                assert_eq!(effective_capabilities(), expected);
                drop_all().unwrap();
                assert!(!has_capabilities().unwrap() && prctl::get_no_new_privs().unwrap());
                assert!(crate::netns::enter_new().is_err());
            });
        });
    }
}
