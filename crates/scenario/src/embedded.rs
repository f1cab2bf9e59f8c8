//! Embedded scenarios, which run by name without a file, and the templates that `new` prints.

/// One embedded scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EmbeddedScenario {
    /// Name that `run` and `check` take.
    pub name: &'static str,
    /// Contents.
    pub text: &'static str,
}

/// Lists files of `scenarios/` by their names.
macro_rules! embedded {
    ($($name:literal)*) => {
        &[$(EmbeddedScenario {
            name: $name,
            text: include_str!(concat!("../../../scenarios/", $name, ".toml")),
        }),*]
    };
}

static SCENARIOS: &[EmbeddedScenario] = embedded! {
    "bench-dumbbell"
    "bench-incast"
    "bench-permutation"
    "bench-websearch"
    "dctcp-kernel"
    "dumbbell-10g"
    "fat-tree-websearch"
    "first-light"
    "incast"
    "leaf-spine"
    "matrix"
    "mixed-deployment-100m"
    "own-flows"
    "queue-buildup"
    "queue-buildup-100m"
    "schemes-10g"
    "training"
    "two-flows-1g"
};

/// Returns the embedded scenarios, by name.
pub fn embedded_scenarios() -> &'static [EmbeddedScenario] {
    SCENARIOS
}

/// Returns the embedded scenario of that name.
pub(crate) fn find(name: &str) -> Option<&'static EmbeddedScenario> {
    SCENARIOS.iter().find(|e| e.name == name)
}

impl EmbeddedScenario {
    /// Title in the file.
    pub fn title(&self) -> String {
        let table = self.text.parse::<toml::Table>().unwrap_or_default();
        table.get("title").and_then(toml::Value::as_str).unwrap_or_default().to_owned()
    }
}

/// A commented file to start from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Template {
    /// Name that `new` takes.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Contents.
    pub text: &'static str,
}

/// Templates, by name.
pub static TEMPLATES: &[Template] = &[
    Template {
        name: "dumbbell",
        summary: "two switches with a bottleneck between them, long flows",
        text: include_str!("../templates/dumbbell.toml"),
    },
    Template {
        name: "graph",
        summary: "custom flows and a custom topology, from files",
        text: include_str!("../templates/graph.toml"),
    },
    Template {
        name: "leaf-spine",
        summary: "racks under spines, Poisson traffic and queries, shared memory",
        text: include_str!("../templates/leaf-spine.toml"),
    },
    Template {
        name: "star",
        summary: "hosts on one switch, long and short flows, schemes compared, a sweep",
        text: include_str!("../templates/star.toml"),
    },
];

/// Returns the text of the template of that name in [`TEMPLATES`].
pub fn template(kind: &str) -> Option<&'static str> {
    TEMPLATES.iter().find(|t| t.name == kind).map(|t| t.text)
}
