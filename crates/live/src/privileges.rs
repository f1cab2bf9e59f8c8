//! Dropping of root's privileges once devices are open.
//!
//! Contract: creating interfaces, addresses, namespaces and raw sockets takes privileges; using
//! them takes none. [`drop_except`] is called in between, before threads that read packets are
//! started: capabilities are per thread, and a new thread inherits them. Afterwards neither this
//! thread, nor one that it starts, nor a program that either executes regains them
//! (`no_new_privs`). Two capabilities may be kept for later use and are then dropped with
//! [`drop_all`], in each thread that has them: see [`RetainedCapability`].
//!
//! Without a [`User`] the process continues as root without capabilities (capabilities(7)). It can
//! no longer configure the machine, but it can still write to files of root. A separate user
//! prevents that as well.

use std::io;

use caps::errors::CapsError;
use caps::{CapSet, Capability, CapsHashSet};
use nix::sys::prctl;
use nix::unistd::{Gid, Group, Uid, User as Account, setgroups, setresgid, setresuid};

use crate::error::LiveError;

/// User and group to run as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct User {
    uid: Uid,
    gid: Gid,
}

impl User {
    /// Parses `NAME` or `UID`, optionally with `:GROUP`, a name or a number. The default group is
    /// that of the account, or equals the UID without an account.
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
        // To the kernel the highest number means "unchanged".
        let unchanged = uid.as_raw() == u32::MAX || gid.as_raw() == u32::MAX;
        if uid.is_root() || unchanged { Err(bad()) } else { Ok(Self { uid, gid }) }
    }
}

/// Capabilities that are needed after [`drop_except`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetainedCapability {
    /// To set SCHED_FIFO for a thread (CAP_SYS_NICE).
    Priority,
    /// To listen on a kernel port below 1024 (CAP_NET_BIND_SERVICE).
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

/// Drops all capabilities but those in `later`, and becomes `user`, if given. Without privileges it
/// only forbids new ones.
///
/// # Errors
/// Becoming another user requires root. A capability cannot be dropped.
pub fn drop_except(user: Option<&User>, later: &[RetainedCapability]) -> Result<(), LiveError> {
    // Dropping from the bounding set takes CAP_SETPCAP. Without it, `no_new_privs` is equivalent.
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

/// Drops the retained capabilities of this thread.
///
/// # Errors
/// A capability cannot be dropped.
pub fn drop_all() -> Result<(), LiveError> {
    retain_only(&[])
}

fn retain_only(later: &[RetainedCapability]) -> Result<(), LiveError> {
    let permitted = caps::read(None, CapSet::Permitted).map_err(failed)?;
    let wanted: CapsHashSet = later.iter().map(|l| l.capability()).collect();
    let kept = &permitted & &wanted;
    // Old kernels have no ambient set.
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
    fn users_parse_from_names_or_numbers_and_exclude_root() {
        let ids = |text: &str| User::parse(text).map(|u| (u.uid.as_raw(), u.gid.as_raw()));
        assert_eq!(ids("54321").unwrap(), (54_321, 54_321));
        assert_eq!(ids("54321:7").unwrap(), (54_321, 7));
        for bad in
            ["0", "root", "0:5", "no-such-user", "", ":", "5:", "-1", "4294967295", "5:4294967295"]
        {
            let error = User::parse(bad).unwrap_err();
            assert!(matches!(error, LiveError::User(_)), "{bad}: {error}");
        }
    }

    fn effective_capabilities() -> CapsHashSet {
        caps::read(None, CapSet::Effective).unwrap()
    }

    fn has_capabilities() -> bool {
        let sets = [CapSet::Effective, CapSet::Permitted, CapSet::Inheritable];
        sets.into_iter().any(|set| !caps::read(None, set).unwrap().is_empty())
    }

    /// Capabilities are per thread: this test drops those of its threads, not of the process.
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
                        assert!(!has_capabilities());
                    });
                });
                assert_eq!(effective_capabilities(), expected);
                drop_all().unwrap();
                assert!(!has_capabilities() && prctl::get_no_new_privs().unwrap());
                assert!(crate::netns::enter_new().is_err());
            });
        });
    }
}
