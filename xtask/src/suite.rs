//! Suites that are too slow for every change, by name.
//!
//! A suite is a list of commands with their environment. Its output is that of its commands.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// A long suite.
struct Suite {
    name: &'static str,
    /// Purpose of the suite.
    about: &'static str,
    /// Typical duration on two cores, with the build, minutes.
    minutes: u64,
    steps: &'static [Step],
}

/// A command of a suite.
struct Step {
    env: &'static [(&'static str, &'static str)],
    /// Program and arguments.
    command: &'static [&'static str],
}

const SUITES: &[Suite] = &[
    Suite {
        name: "adversary",
        about: "random connections over lossy links, with misbehaving peers and middleboxes",
        minutes: 8,
        steps: &[
            step(&["cargo", "xtask", "adversary", "--cases", "1000000", "-j", "2"]),
            step(&["cargo", "xtask", "adversary", "--cases", "20000", "--long", "-j", "2"]),
        ],
    },
    Suite {
        name: "browser",
        about: "the HTML pages in headless Chromium, and whether their script is what web/ gives; needs npm, Chromium",
        minutes: 6,
        steps: &[
            step(&["npm", "ci", "--prefix", "web"]),
            step(&["npm", "run", "check", "--prefix", "web"]),
            step(&["cargo", "build", "--release"]),
            step(&["npm", "test", "--prefix", "web"]),
        ],
    },
    Suite {
        name: "crowd",
        about: "10,000 open connections with the kernel, 200 transfers beside hostile crowds; needs root",
        minutes: 12,
        steps: &[
            Step {
                env: &[("LOWTIDE_CROWD", "10000"), ROOT],
                command: &[
                    "cargo",
                    "test",
                    "--release",
                    "-p",
                    "lowtide-live",
                    "--test",
                    "live",
                    "crowd",
                ],
            },
            Step {
                env: &[("LOWTIDE_ADMISSION_TRANSFERS", "200"), ROOT],
                command: &[
                    "cargo",
                    "test",
                    "--release",
                    "-p",
                    "lowtide-live",
                    "--test",
                    "live",
                    "admission",
                    "--",
                    "--nocapture",
                ],
            },
        ],
    },
    Suite {
        name: "damage",
        about: "1,000 kills, flipped bits and full disks over result directories; needs root",
        minutes: 8,
        steps: &[Step {
            env: &[("LOWTIDE_DAMAGE_TRIALS", "1000"), ROOT],
            command: &["cargo", "test", "-p", "lowtide", "--test", "privileged", "damage"],
        }],
    },
    Suite {
        name: "debian-kernel",
        about: "`lt_dctcp` beside Linux's own DCTCP in a machine of QEMU; needs clang, apt, QEMU",
        minutes: 8,
        steps: &[Step {
            env: &[("LOWTIDE_DEBIAN_KERNEL", "1"), ROOT],
            command: &[
                "cargo",
                "test",
                "-p",
                "lowtide",
                "--features",
                "kernel",
                "--test",
                "debian_kernel",
                "--",
                "--nocapture",
                "--test-threads",
                "1",
            ],
        }],
    },
    Suite {
        name: "engines",
        about: "sweeps on Dask, Ray, MPI and a one-node Slurm, in the virtual environment of the suite python; needs root, Open MPI, Slurm",
        minutes: 8,
        steps: &[
            step(&[
                "sh",
                "-c",
                "target/python-venv/bin/pip install -q \"$(ls -t target/python-wheels/*.whl | head -n 1)[test,engines]\"",
            ]),
            step(&[
                "target/python-venv/bin/python",
                "-m",
                "pytest",
                "-q",
                "-rs",
                "crates/python/tests/test_engines.py",
                "crates/python/tests/test_clusters.py",
            ]),
        ],
    },
    Suite {
        name: "foreign-files",
        about: "20,000 changed scenarios, run directories and archives, judged by their system calls; needs strace",
        minutes: 15,
        steps: &[Step {
            env: &[("LOWTIDE_FOREIGN_FILES", "20000"), ROOT],
            command: &["cargo", "test", "--release", "-p", "lowtide", "--test", "foreign_files"],
        }],
    },
    Suite {
        name: "hostile",
        about: "200,000 hostile packets of each kind against `lowtide live server`; needs root, an idle machine",
        minutes: 15,
        steps: &[Step {
            env: &[("LOWTIDE_HOSTILE_PACKETS", "200000"), ROOT],
            command: &[
                "cargo",
                "test",
                "--release",
                "-p",
                "lowtide",
                "--test",
                "hostile",
                "--",
                "--test-threads",
                "1",
            ],
        }],
    },
    Suite {
        name: "interop",
        about: "our TCP with Linux, gVisor, smoltcp, lwIP and User Mode Linux; needs root",
        minutes: 6,
        steps: &[Step { env: &[ROOT], command: &["cargo", "run", "-p", "lowtide-interop"] }],
    },
    Suite {
        name: "kernel",
        about: "BPF twins loaded and unloaded under traffic for 20 minutes; needs root, clang",
        minutes: 24,
        steps: &[Step {
            env: &[("LOWTIDE_SOAK_MINUTES", "20"), ROOT],
            command: &[
                "cargo",
                "test",
                "-p",
                "lowtide",
                "--features",
                "kernel",
                "--test",
                "privileged",
                "kernel",
            ],
        }],
    },
    Suite {
        name: "publish",
        about: "the packages of the published crates and their documentation; needs the crate registry",
        minutes: 1,
        steps: &[
            // Cargo's home keeps unpacked packages: a later run would compile the old ones.
            step(&["rm", "-rf", "target/package", "target/publish-home"]),
            Step {
                env: &[("CARGO_HOME", "target/publish-home")],
                command: &["cargo", "publish", "--workspace", "--dry-run", "--allow-dirty"],
            },
            Step {
                env: &[("RUSTDOCFLAGS", "-D warnings")],
                command: &[
                    "cargo",
                    "doc",
                    "--no-deps",
                    "-p",
                    "lowtide-units",
                    "-p",
                    "lowtide-schema",
                    "-p",
                    "lowtide-wire",
                    "-p",
                    "lowtide-congestion",
                    "-p",
                    "lowtide-tcp",
                ],
            },
        ],
    },
    Suite {
        name: "package",
        about: "Debian package, container image and component list, each with a run; needs cargo-deb, buildah, crun",
        minutes: 12,
        steps: &[
            step(&[
                "cargo",
                "clippy",
                "-p",
                "lowtide",
                "--no-default-features",
                "--",
                "-D",
                "warnings",
            ]),
            step(&["bash", "packaging/suite.sh"]),
        ],
    },
    Suite {
        name: "python",
        about: "the wheel for manylinux_2_28 in a fresh virtual environment, with notebooks; needs the package index",
        minutes: 15,
        steps: &[step(&["bash", "packaging/wheel.sh", "dist"])],
    },
    Suite {
        name: "soak",
        about: "connections of all sizes over a bad network for 20 minutes; needs root",
        minutes: 25,
        steps: &[Step {
            env: &[("LOWTIDE_SOAK_MINUTES", "20"), ROOT],
            command: &[
                "cargo",
                "test",
                "--release",
                "-p",
                "lowtide-bottleneck",
                "--test",
                "bottleneck",
                "soak",
            ],
        }],
    },
    Suite {
        name: "supply-chain",
        about: "licences, sources, double versions and known faults of the crates of others; needs cargo-deny",
        minutes: 1,
        steps: &[step(&["bash", "packaging/supply-chain.sh"])],
    },
    Suite {
        name: "tables",
        about: "result tables in pandas, polars and DuckDB; needs Python with venv, the network",
        minutes: 4,
        steps: &[
            step(&["python3", "-m", "venv", "target/readers/venv"]),
            step(&[
                "target/readers/venv/bin/pip",
                "install",
                "--quiet",
                "pandas",
                "pyarrow",
                "polars",
                "duckdb",
            ]),
            step(&["cargo", "build", "-p", "lowtide"]),
            step(&[
                "target/readers/venv/bin/python",
                "crates/record/tests/readers/read_tables.py",
                "target/debug/lowtide",
                "target/readers/runs",
            ]),
        ],
    },
];

const ROOT: (&str, &str) = ("LOWTIDE_REQUIRE_ROOT", "1");

const fn step(command: &'static [&'static str]) -> Step {
    Step { env: &[], command }
}

/// Lists the suites.
pub(crate) fn list() -> ExitCode {
    for suite in SUITES {
        println!("{:<12} {:>3} min  {}", suite.name, suite.minutes, suite.about);
    }
    ExitCode::SUCCESS
}

/// Runs the suite `name`: every step, even after a failed one.
#[expect(clippy::disallowed_methods, reason = "it reports its duration")]
pub(crate) fn run(root: &Path, name: &str) -> Result<ExitCode, String> {
    let Some(suite) = SUITES.iter().find(|s| s.name == name) else {
        let names: Vec<_> = SUITES.iter().map(|s| s.name).collect();
        return Err(format!("there is no suite `{name}`: there are {}", names.join(", ")));
    };
    println!("== {}: {}, about {} min", suite.name, suite.about, suite.minutes);
    let start = Instant::now();
    let mut failed = 0;
    for step in suite.steps {
        let [program, arguments @ ..] = step.command else { continue };
        println!("== {}", step.shown());
        let mut command = Command::new(program);
        let status =
            command.args(arguments).envs(step.env.iter().copied()).current_dir(root).status();
        match status {
            Ok(status) if status.success() => {}
            Ok(status) => {
                eprintln!("== failed ({status}): {}", step.shown());
                failed += 1;
            }
            Err(why) => {
                eprintln!("== cannot run {program}: {why}");
                failed += 1;
            }
        }
    }
    println!(
        "== {}: {} s, {failed} of {} steps failed",
        suite.name,
        start.elapsed().as_secs(),
        suite.steps.len()
    );
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Step {
    /// The command in shell syntax.
    fn shown(&self) -> String {
        let env = self.env.iter().map(|(key, value)| format!("{key}={value} "));
        env.collect::<String>() + &self.command.join(" ")
    }
}
