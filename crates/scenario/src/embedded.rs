//! Embedded scenarios, which run by name without a file, and the templates that `new` prints.

/// One embedded scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EmbeddedScenario {
    /// Name that `run` and `check` take.
    pub name: &'static str,
    /// Contents.
    pub text: &'static str,
}

static SCENARIOS: &[EmbeddedScenario] = &[
    EmbeddedScenario {
        name: "bench-dumbbell",
        text: include_str!("../../../scenarios/bench-dumbbell.toml"),
    },
    EmbeddedScenario {
        name: "bench-incast",
        text: include_str!("../../../scenarios/bench-incast.toml"),
    },
    EmbeddedScenario {
        name: "bench-permutation",
        text: include_str!("../../../scenarios/bench-permutation.toml"),
    },
    EmbeddedScenario {
        name: "bench-websearch",
        text: include_str!("../../../scenarios/bench-websearch.toml"),
    },
    EmbeddedScenario { name: "dctcp-uml", text: include_str!("../../../scenarios/dctcp-uml.toml") },
    EmbeddedScenario {
        name: "dumbbell-10g",
        text: include_str!("../../../scenarios/dumbbell-10g.toml"),
    },
    EmbeddedScenario {
        name: "fat-tree-websearch",
        text: include_str!("../../../scenarios/fat-tree-websearch.toml"),
    },
    EmbeddedScenario {
        name: "first-light",
        text: include_str!("../../../scenarios/first-light.toml"),
    },
    EmbeddedScenario { name: "incast", text: include_str!("../../../scenarios/incast.toml") },
    EmbeddedScenario {
        name: "leaf-spine",
        text: include_str!("../../../scenarios/leaf-spine.toml"),
    },
    EmbeddedScenario { name: "matrix", text: include_str!("../../../scenarios/matrix.toml") },
    EmbeddedScenario {
        name: "mixed-deployment-100m",
        text: include_str!("../../../scenarios/mixed-deployment-100m.toml"),
    },
    EmbeddedScenario { name: "own-flows", text: include_str!("../../../scenarios/own-flows.toml") },
    EmbeddedScenario {
        name: "queue-buildup",
        text: include_str!("../../../scenarios/queue-buildup.toml"),
    },
    EmbeddedScenario {
        name: "queue-buildup-100m",
        text: include_str!("../../../scenarios/queue-buildup-100m.toml"),
    },
    EmbeddedScenario {
        name: "schemes-10g",
        text: include_str!("../../../scenarios/schemes-10g.toml"),
    },
    EmbeddedScenario {
        name: "two-flows-1g",
        text: include_str!("../../../scenarios/two-flows-1g.toml"),
    },
];

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
