//! `lowtide kernel unit`: a systemd unit that loads a twin at boot.

use std::fmt::Write as _;
use std::path::Path;

use lowtide_kernel::{KernelError, Twin, find_twin};
use lowtide_output::{comment, shell, systemd};
use lowtide_schema::Values;

use super::{delack, failed, params};
use crate::args::KernelLoadArgs;
use crate::error::CommandError;
use crate::invocation;

/// The unit runs before sysinit.target, which all ordinary services wait for, so without the
/// default dependencies. A default that sysctl.d sets is replaced.
const EARLY: &str = "\
DefaultDependencies=no
After=local-fs.target systemd-sysctl.service
Before=network-pre.target sysinit.target shutdown.target
Wants=network-pre.target
Conflicts=shutdown.target
";

/// A route exists only after the network is up.
const AFTER_NETWORK: &str = "\
After=network-online.target
Wants=network-online.target
";

pub(super) fn unit(args: &KernelLoadArgs) -> Result<String, CommandError> {
    let twin = find_twin(&args.name).map_err(failed)?;
    Values::parse(twin.params, &params(args)?)
        .map_err(|e| failed(KernelError::Param(e.to_string())))?;
    args.delack_max.as_deref().map(delack).transpose()?;
    let program = invocation::program()
        .map_err(|e| CommandError::Run(format!("cannot find this program: {e}")))?;
    let program = systemd::word(text_of(&program)?);
    args.cgroups.iter().try_for_each(|cgroup| text_of(cgroup).map(drop))?;
    let (order, target) = if args.routes.is_empty() {
        (EARLY, "sysinit.target")
    } else {
        (AFTER_NETWORK, "multi-user.target")
    };
    let mut order = order.to_owned();
    for cgroup in &args.cgroups {
        order.push_str(&after_cgroup(cgroup, twin, &program, args.delack_max.as_deref())?);
    }
    Ok(format!(
        "[Unit]\n\
         Description=TCP congestion control {name} ({summary})\n\
         {order}\n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n\
         ExecStart={program} kernel load {name}{options}\n\
         ExecStop={program} kernel unload {name} --force\n\n\
         [Install]\n\
         WantedBy={target}\n",
        name = twin.name,
        summary = twin.summary,
        options = options(args),
    ))
}

fn options(args: &KernelLoadArgs) -> String {
    let mut out = String::new();
    let mut add = |name, value: &str| {
        // Writing to a string cannot fail.
        let _ = write!(out, " {name} {}", systemd::word(value));
    };
    args.params.iter().for_each(|param| add("--param", param));
    args.cgroups.iter().for_each(|cgroup| add("--cgroup", &cgroup.display().to_string()));
    args.delack_max.iter().for_each(|delay| add("--delack-max", delay));
    args.routes.iter().for_each(|route| add("--route", route));
    for (name, given) in [("--unrestricted", args.unrestricted), ("--default", args.default)] {
        if given {
            let _ = write!(out, " {name}");
        }
    }
    out
}

/// Returns the lines that order the unit after the creation of a cgroup.
///
/// # Errors
/// The cgroup is that of a service: it exists only while the service runs.
fn after_cgroup(
    cgroup: &Path,
    twin: &Twin,
    program: &str,
    delack_max: Option<&str>,
) -> Result<String, CommandError> {
    let has_kind = |path: &&Path, kinds: &[&str]| {
        path.extension().is_some_and(|kind| kinds.iter().any(|k| kind == *k))
    };
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if let Some(service) = cgroup.ancestors().find(|path| has_kind(path, &["service", "scope"])) {
        let service = name(service);
        let delay =
            delack_max.map_or_else(String::new, |d| format!(" --delack-max {}", systemd::word(d)));
        let path = cgroup.display().to_string();
        let message = format!(
            "systemd makes {path} when it starts {service}: print the unit without it, and put \
             `ExecStartPre=+{program} kernel load {} --cgroup {}{delay}` into the [Service] of \
             `systemctl edit {}`",
            twin.name,
            systemd::word(&path),
            shell::word(&service),
        );
        return Err(CommandError::Usage(message, None));
    }
    if has_kind(&cgroup, &["slice"]) {
        let slice = name(cgroup);
        let unit = systemd::unit_name(&slice).ok_or_else(|| {
            let message = format!(
                "`{slice}` cannot be the name of a unit: it has letters, digits and `:-_.\\@`"
            );
            CommandError::Usage(message, None)
        })?;
        return Ok(format!("Requires={unit}\nAfter={unit}\n"));
    }
    let path = comment::text(&cgroup.display().to_string());
    Ok(format!("# {path} must exist when this unit starts.\n"))
}

/// Returns the path as text: systemd reads units as UTF-8.
fn text_of(path: &Path) -> Result<&str, CommandError> {
    path.to_str().ok_or_else(|| {
        let message = format!("`{}` is not UTF-8, as systemd's units are", path.display());
        CommandError::Usage(message, None)
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn args(cgroups: &[&str]) -> KernelLoadArgs {
        KernelLoadArgs {
            name: "dctcp".to_owned(),
            params: vec!["shift-g=5".to_owned()],
            cgroups: cgroups.iter().map(PathBuf::from).collect(),
            delack_max: None,
            routes: Vec::new(),
            default: false,
            unrestricted: false,
        }
    }

    #[test]
    fn a_unit_waits_for_the_slice_whose_cgroup_it_selects() {
        let text = unit(&args(&["/sys/fs/cgroup/a.slice/a-b\\x2dc.slice"])).unwrap();
        assert!(text.contains("\nAfter=a-b\\x2dc.slice\n"), "{text}");
        let command = "--param shift-g=5 --cgroup \"/sys/fs/cgroup/a.slice/a-b\\\\x2dc.slice\"\n";
        assert!(text.contains(command), "{text}");
        let text = unit(&args(&["/sys/fs/cgroup/mine"])).unwrap();
        assert!(text.contains("# /sys/fs/cgroup/mine must exist"), "{text}");
    }

    #[test]
    fn the_cgroup_of_a_service_belongs_into_the_service() {
        let error = unit(&args(&["/sys/fs/cgroup/system.slice/db.service"])).unwrap_err();
        let CommandError::Usage(message, _) = error else { panic!("{error:?}") };
        assert!(message.contains("when it starts db.service"), "{message}");
        assert!(message.contains("kernel load lt_dctcp --cgroup /sys/fs/cgroup"), "{message}");
    }

    #[test]
    fn a_wrong_parameter_is_reported_now_and_not_at_boot() {
        let mut wrong = args(&[]);
        wrong.params = vec!["shift-g=11".to_owned()];
        assert!(matches!(unit(&wrong), Err(CommandError::Usage(..))));
    }
    /// The argument parser refuses control characters first.
    #[test]
    fn no_argument_adds_a_line_or_a_unit() {
        let lines = |cgroup: &str| unit(&args(&[cgroup])).map(|text| text.lines().count());
        let plain = lines("/sys/fs/cgroup/mine").unwrap();
        let hostile = "/sys/fs/cgroup/mine\nExecStart=/bin/sh\n[Install]";
        assert_eq!(lines(hostile).unwrap(), plain);
        for slice in ["/sys/fs/cgroup/a b.slice", "/sys/fs/cgroup/%h.slice", "/a\nx.slice"] {
            assert!(matches!(lines(slice), Err(CommandError::Usage(..))), "{slice}");
        }
    }
}
