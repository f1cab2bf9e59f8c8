//! Scenarios that run by name, without a file, and the templates of `new`.

/// One embedded scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Embedded {
    /// What `run` and `check` take.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

static SCENARIOS: &[Embedded] = &[
    Embedded {
        name: "bench-dumbbell",
        text: include_str!("../../../scenarios/bench-dumbbell.toml"),
    },
    Embedded { name: "dumbbell-10g", text: include_str!("../../../scenarios/dumbbell-10g.toml") },
    Embedded { name: "first-light", text: include_str!("../../../scenarios/first-light.toml") },
    Embedded { name: "queue-buildup", text: include_str!("../../../scenarios/queue-buildup.toml") },
    Embedded { name: "two-flows-1g", text: include_str!("../../../scenarios/two-flows-1g.toml") },
];

/// The embedded scenarios, by name.
pub fn list() -> &'static [Embedded] {
    SCENARIOS
}

/// The embedded scenario of that name.
pub fn find(name: &str) -> Option<&'static Embedded> {
    SCENARIOS.iter().find(|e| e.name == name)
}

impl Embedded {
    /// The title that the file gives itself.
    pub fn title(&self) -> String {
        let table = self.text.parse::<toml::Table>().unwrap_or_default();
        table.get("title").and_then(toml::Value::as_str).unwrap_or_default().to_owned()
    }
}

/// A commented file to start from; `None` for a kind that has none. See [`TEMPLATES`].
pub fn template(kind: &str) -> Option<&'static str> {
    match kind {
        "star" => Some(include_str!("../templates/star.toml")),
        "dumbbell" => Some(include_str!("../templates/dumbbell.toml")),
        _ => None,
    }
}

/// The kinds of [`template`].
pub const TEMPLATES: [&str; 2] = ["dumbbell", "star"];
