//! `lowtide kernel` on machines that lack something: each message is one sentence that says what
//! would be right, and nothing is half-loaded.

use serde_json::Value;

/// The reports of `lowtide kernel` in a machine, by case.
struct Cases<'a>(&'a [Value]);

impl Cases<'_> {
    fn of(&self, case: &str) -> &Value {
        let found = self.0.iter().find(|line| line["case"] == case);
        found.unwrap_or_else(|| panic!("no case `{case}`"))
    }

    /// Checks that the command failed with one line that contains `why`. Returns whether the kernel
    /// then has `lt_dctcp`.
    fn refused(&self, case: &str, why: &str) -> bool {
        let line = self.of(case);
        let stderr = line["stderr"].as_str().unwrap();
        assert_eq!(line["status"], 1, "{line}");
        assert!(stderr.contains(why) && stderr.trim().lines().count() == 1, "{line}");
        Self::has(line, "lt_dctcp")
    }

    /// Checks that the command succeeded. Returns what it printed.
    fn done(&self, case: &str) -> &str {
        assert_eq!(self.of(case)["status"], 0, "{}", self.of(case));
        self.of(case)["stdout"].as_str().unwrap()
    }

    fn has(line: &Value, control: &str) -> bool {
        line["controls"].as_array().unwrap().iter().any(|name| name == control)
    }
}

/// Also on Linux 6.1, where a map without a link holds the registration.
pub(crate) fn each_control_loads(lines: &[Value]) {
    let cases = Cases(lines);
    for name in ["lt_dctcp", "lt_odctcp_snd", "lt_odctcp_rcv", "lt_odctcp", "lt_tdctcp"] {
        assert!(cases.done(name).contains("is loaded"));
        assert!(Cases::has(cases.of(name), name));
    }
    for question in ["stats", "list"] {
        cases.done(question);
    }
}

pub(crate) fn names_type_information_and_modules(lines: &[Value]) {
    let cases = Cases(lines);
    for case in ["load without BTF", "stats without BTF"] {
        assert!(!cases.refused(case, "this kernel has no BTF at /sys/kernel/btf/vmlinux"));
    }
    cases.done("load");
    assert!(cases.refused("load again", "`lt_dctcp` is loaded already"));
    // The kernel's own DCTCP has another name; neither disturbs the other.
    assert!(cases.done("list beside tcp_dctcp").contains("loaded"));
    cases.done("unload beside tcp_dctcp");
    let unloaded = cases.of("unload beside tcp_dctcp");
    assert!(Cases::has(unloaded, "dctcp") && !Cases::has(unloaded, "lt_dctcp"), "{unloaded}");
    cases.done("load beside tcp_dctcp");
    let both = cases.of("load beside tcp_dctcp");
    assert!(Cases::has(both, "dctcp") && Cases::has(both, "lt_dctcp"), "{both}");

    assert!(cases.refused("load a foreign name", "that lowtide did not load"));
    assert!(cases.refused("unload a foreign name", "that lowtide did not load"));
}
