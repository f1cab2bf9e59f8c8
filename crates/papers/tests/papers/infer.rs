//! Inference of open settings, on a small paper of our own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use lowtide_lab::ResourceLimits;
use lowtide_papers::infer::{
    ClaimSide, INFERENCE_PAGE, InferenceOptions, InferenceResult, InferenceSize, InferenceSubject,
    infer,
};

/// Two senders over one line, with a threshold K that is open.
const SCENARIO: &str = r#"
schema = 1
title = "Two flows"
[run]
duration = "12 ms"
warmup = "4 ms"
end = "duration"
[topology]
kind = "dumbbell"
link-rate = "1 Gbit/s"
link-delay = "5 us"
[hosts.left]
count = 2
side = "left"
[hosts.right]
count = 2
side = "right"
[switch]
buffer = "1 MB"
[switch.mark]
kind = "step"
k = "65 pkt"
[transport]
scheme = "dctcp"
[traffic.long]
kind = "transfers"
from = "left"
to = "right"
count = 2
size = "unlimited"
"#;

/// Bounds of the queue that hold for K from about 8 to about 22.
fn claims() -> String {
    let queue = r#"{ metric = "mean_packets", queue = "switch0->switch1" }"#;
    let claim = |id: usize, figure: usize, bound: &str| {
        format!(
            "[[claim]]\nid = \"c{id}\"\nsays = \"the queue\"\nkind = \"ordering\"\n\
             source = \"fig. {figure}\"\nunit = \"pkt\"\n{bound}\nmeasure = {queue}\n"
        )
    };
    let mut text = "paper = \"Own\"\ntitle = \"Two flows\"\n[quick]\nhops = 4000000\n".to_owned();
    for i in 0..16 {
        let bound = if i % 2 == 0 { "at-most = 22.0" } else { "at-least = 8.0" };
        text.push_str(&claim(i, i + 1, bound));
    }
    text
}

const OPEN: &str = r#"
[[parameter]]
name = "k"
says = "Threshold"
quote = "a suitable K"
source = "§1"
why = "no value"
prior = "a decade around 65"
keys = ["switch.mark.k"]
range = ["5 pkt", "100 pkt"]
scale = "log"
whole = true

[[parameter]]
name = "nagle"
says = "Nagle's algorithm"
quote = "standard TCP"
source = "§1"
why = "not mentioned"
prior = "both values"
[[parameter.choice]]
name = "as stated"
set = {}
[[parameter.choice]]
name = "off"
set = { "transport.sender.nagle" = false }
"#;

/// A folder `own`, whose name decides the split of its claims.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(open: &str, claims: &str) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(dir.path().join("own")).expect("a folder");
        for (name, text) in
            [("own.toml", SCENARIO), ("own.expected.toml", claims), ("open.toml", open)]
        {
            std::fs::write(dir.path().join("own").join(name), text).expect("it is written");
        }
        Self(dir)
    }

    fn subject(&self) -> Result<InferenceSubject, String> {
        InferenceSubject::load(&self.0.path().join("own")).map_err(|e| e.to_string())
    }

    fn out(&self) -> PathBuf {
        self.0.path().join("out")
    }
}

fn run(
    subject: &InferenceSubject,
    out: &Path,
    part: (usize, usize),
    stop_after: usize,
) -> Result<InferenceResult, String> {
    let (stop, finished) = (AtomicBool::new(false), AtomicUsize::new(0));
    let size = InferenceSize { draws: 8, rounds: 2, finalists: 2, decide: 8 };
    let progress = |_: &str, _, _| {
        if finished.fetch_add(1, Ordering::Relaxed) + 1 >= stop_after {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let options = InferenceOptions {
        dir: out.to_owned(),
        jobs: 1,
        part,
        stop: &stop,
        clock: &|| Duration::ZERO,
        limits: ResourceLimits::default(),
        worker: "test",
        progress: &progress,
    };
    infer(subject, size, "a test", &options).map(|(result, _)| result).map_err(|e| e.to_string())
}

#[test]
fn an_inference_finds_the_setting_and_is_the_same_in_parts_and_after_a_stop() {
    let folder = Folder::new(OPEN, &claims());
    let subject = folder.subject().expect("the files are right");
    let (fitted, held_back) = subject.claim_counts();
    assert_eq!((fitted, held_back), (8, 8));

    let stopped = run(&subject, &folder.out(), (0, 1), 5).unwrap_err();
    assert!(stopped.contains("continues"), "{stopped}");
    let result = run(&subject, &folder.out(), (0, 1), usize::MAX).expect("it continues");
    let page = std::fs::read_to_string(folder.out().join(INFERENCE_PAGE)).expect("a page");
    assert!(page.contains("Inferred settings"));

    let k: f64 = result.parameters[0].inferred.split(' ').next().unwrap().parse().unwrap();
    assert!((8.0..=25.0).contains(&k), "{k}");
    let held_back = result.claims.iter().filter(|c| c.side == ClaimSide::HeldBack);
    assert!(held_back.clone().all(|c| c.in_band_of_consistent > c.in_band_of_draws - 1e-9));
    let influence = |i: usize| result.parameters[i].sensitivity.expect("it varies").index;
    assert!(influence(0) > influence(1), "K decides, and Nagle's algorithm does not");

    let other = folder.0.path().join("other");
    let parts = std::thread::scope(|scope| {
        let part = |i| {
            let (subject, other) = (&subject, &other);
            scope.spawn(move || run(subject, other, (i, 2), usize::MAX))
        };
        [part(0), part(1)].map(|thread| thread.join().expect("no panic"))
    });
    for part in parts {
        assert_eq!(part.expect("it completes"), result);
    }
    let left = std::fs::read_dir(other.join("evaluations/own-own")).expect("the evaluations");
    let left: Vec<PathBuf> = left.map(|f| f.expect("a file").path()).collect();
    let stored = |path: &PathBuf| path.extension().is_some_and(|e| e == "json");
    assert!(left.iter().all(stored), "{left:?}");
}

#[test]
fn wrong_files_are_refused_before_anything_runs() {
    let refused = |open: &str, claims: &str| Folder::new(open, claims).subject().unwrap_err();
    let says = refused(&OPEN.replace("switch.mark.k", "switch.mark.kk"), &claims());
    assert!(says.contains("switch.mark.kk"), "{says}");
    let says = refused(&format!("{OPEN}only = [\"fig9\"]\n"), &claims());
    assert!(says.contains("only") || says.contains("fig9"), "{says}");
    let few: String = claims().split("[[claim]]").take(9).collect::<Vec<_>>().join("[[claim]]");
    let says = refused(OPEN, &few);
    assert!(says.contains("2 parameters for 4 fitted claims"), "{says}");
    let form = "[form.own]\n\"switch.mark.k\" = \"20 pkt\"\n";
    let says = refused(&format!("{OPEN}{form}"), &claims());
    assert!(says.contains("the reduced form sets `switch.mark.k`, as parameter `k`"), "{says}");
    let folder = Folder::new(OPEN, &claims());
    std::fs::write(
        folder.0.path().join("own/split.toml"),
        "fitted = [\"fig. 1\"]\nheld-back = []\n",
    )
    .expect("it is written");
    let says = folder.subject().unwrap_err();
    assert!(says.contains("neither fitted nor held back"), "{says}");
    let figures: Vec<String> = (1..=16).map(|i| format!("\"fig. {i}\"")).collect();
    let all = format!("fitted = []\nheld-back = [{}]\n", figures.join(", "));
    std::fs::write(folder.0.path().join("own/split.toml"), all).expect("it is written");
    let says = folder.subject().unwrap_err();
    assert!(says.contains("no parameter changes a fitted claim"), "{says}");
}

#[test]
fn open_settings_of_the_papers_fit_their_experiments() {
    for paper in lowtide_papers::papers_with_open_settings() {
        let subject = InferenceSubject::new(paper).unwrap_or_else(|e| panic!("{paper}: {e}"));
        let (fitted, held_back) = subject.claim_counts();
        assert!(!subject.open.parameters.is_empty() && held_back > 10, "{paper}");
        assert!(fitted > 3 * subject.open.parameters.len(), "{paper}");
    }
}
