//! Rejected fabrics, graphs, switches, routes and failures.

use crate::common::{BASE, assert_one_error, errors};

/// Returns the base with another topology, one group of hosts that sends to itself, and `more`
/// after it.
fn fabric(topology: &str, count: &str, more: &str) -> String {
    let text = BASE.replace("kind = \"star\"\n", &format!("{topology}\n"));
    let text = text.replace("[hosts.receivers]\ncount = 1\n", "");
    let text = text.replace("count = 3", &format!("count = {count}"));
    text.replace("to = \"receivers\"", "to = \"senders\"") + more
}

/// Asserts that `text` gives exactly one error, which points at `meant` and contains all of
/// `parts`.
#[track_caller]
pub(crate) fn assert_error(text: &str, meant: &str, parts: &[&str]) {
    let found = errors(text);
    assert_eq!(found.iter().count(), 1, "{found}");
    let error = found.first();
    let shown = error.to_string();
    for part in parts {
        assert!(shown.contains(part), "{part:?} is not in:\n{shown}");
    }
    let span = error.span.clone().unwrap_or_else(|| panic!("no place: {shown}"));
    assert_eq!(&error.text[span], meant, "{shown}");
}

const LEAVES: &str = "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts-per-leaf = 4";

#[test]
fn a_fabric_says_how_many_hosts_it_has() {
    let tree = "kind = \"fat-tree\"\nk = 4";
    assert_error(
        &fabric(tree, "12", ""),
        "12",
        &["this fat-tree has 16 hosts", "have 12", "count = \"rest\""],
    );
    assert_error(&fabric("kind = \"three-tier\"", "10", ""), "10", &["has 192 hosts"]);
    let more = "[hosts.more]\ncount = \"rest\"\n";
    assert_error(
        &fabric(tree, "16", more),
        "\"rest\"",
        &["16 hosts, of which the other groups take 16"],
    );
    assert_error(
        &fabric(tree, "\"rest\"", more),
        "\"rest\"",
        &["only one group can take the rest"],
    );
    assert_one_error(
        "count = 3",
        "count = \"rest\"",
        "\"rest\"",
        &["a star has no fixed number of hosts"],
    );
    assert_one_error(
        "count = 3",
        "count = \"all\"",
        "\"all\"",
        &["`all` is not a whole number", "\"rest\""],
    );
}

#[test]
fn invalid_fabric_dimensions() {
    assert_error(
        &fabric("kind = \"fat-tree\"\nk = 3", "3", ""),
        "3",
        &["there is no fat-tree with k = 3", "even"],
    );
    assert_error(
        &fabric("kind = \"fat-tree\"", "16", ""),
        "topology",
        &["`k` is missing in [topology]"],
    );
    let wide = "kind = \"leaf-spine\"\nleaves = 1000\nspines = 1000\nhosts-per-leaf = 1";
    assert_error(
        &fabric(wide, "\"rest\"", ""),
        "\"leaf-spine\"",
        &["has 1001000 links, more than 500000"],
    );
    let odd = "kind = \"three-tier\"\ntor-uplinks = 3";
    assert_error(&fabric(odd, "192", ""), "3", &["tor-uplinks = 3", "multiple of aggs-per-pod"]);
    assert_one_error(
        "kind = \"star\"",
        "kind = \"star\"\nk = 4",
        "4",
        &["a star has no `k`", "`kind = \"fat-tree\"`"],
    );
    assert_one_error(
        "kind = \"star\"",
        "kind = \"star\"\nfabric-rate = \"1 Gbit/s\"",
        "\"1 Gbit/s\"",
        &["a star has no `fabric-rate`", "leaf-spine"],
    );
}

#[test]
fn sides_that_a_topology_does_not_have() {
    let text = fabric("kind = \"multi-hop\"", "3\nside = \"left\"", "");
    assert_error(&text, "\"left\"", &["there is no `left` in this topology", "`side = \"s1\"`"]);
    assert_error(&fabric("kind = \"multi-hop\"", "3", ""), "senders", &["has no `side`", "r2"]);
    assert_error(&fabric(LEAVES, "8\nside = \"s1\"", ""), "\"s1\"", &["has no sides"]);
}

const SWITCHES: &str = "kind = \"graph\"\nswitches = [\"a\", \"b\"]";

/// Returns a graph of three senders and these links.
fn graph(links: &str) -> String {
    let link = |ends| format!("[[topology.links]]\nends = [{ends}]\n");
    let links = links.lines().map(link).collect::<Vec<_>>().concat();
    fabric(SWITCHES, "3", &links)
}

#[test]
fn invalid_graphs() {
    assert_error(
        &graph("\"senders\", \"a\""),
        "\"graph\"",
        &["there is no path from", "connect the switches"],
    );
    assert_error(
        &graph("\"senders[0..2]\", \"a\"\n\"a\", \"b\""),
        "senders",
        &["`senders.2` has no link"],
    );
    let twice = "\"senders\", \"a\"\n\"a\", \"b\"\n\"senders.1\", \"b\"";
    assert_error(&graph(twice), "\"senders.1\"", &["`senders.1` has a link already"]);
    assert_error(
        &graph("\"senders\", \"c\""),
        "\"c\"",
        &["`c` is neither a switch nor a host group"],
    );
    assert_error(&graph("\"sendres\", \"a\""), "\"sendres\"", &["did you mean `senders`"]);
    assert_error(&graph("\"senders.7\", \"a\""), "\"senders.7\"", &["beyond the 3 hosts"]);
    assert_error(&graph("\"a\", \"a\""), "\"a\"", &["`a` is listed twice"]);
    assert_error(&graph("\"a\""), "[\"a\"]", &["a link has two ends, not 1"]);
    assert_error(
        &fabric(SWITCHES, "3", ""),
        "[\"a\", \"b\"]",
        &["a graph needs its links", "[[topology.links]]"],
    );
    let bare = fabric("kind = \"graph\"", "3", "[[topology.links]]\nends = [\"senders\", \"a\"]\n");
    assert!(errors(&bare).to_string().contains("a graph needs its `switches`"));
    let link = "[[topology.links]]\nends = [\"senders\", \"a\"]\nspeed = \"1 Gbit/s\"\n";
    assert_error(&fabric(SWITCHES, "3", link), "speed", &["no key `speed` in [topology.links]"]);
}

#[test]
fn failures_of_links_that_are_not_there() {
    let cut = |lines: &str| fabric(LEAVES, "8", &format!("[failure.cut]\n{lines}\n"));
    let down = "down = \"1 s\"";
    let text = cut(&format!("link = \"leaf0-spin1\"\n{down}"));
    assert_error(&text, "\"leaf0-spin1\"", &["no link `leaf0-spin1`", "`leaf0-spine1`"]);
    let text = cut(&format!("link = \"leaf0-leaf1\"\n{down}"));
    assert_error(
        &text,
        "\"leaf0-leaf1\"",
        &["no link between `leaf0` and `leaf1`", "`spine0`, `spine1`"],
    );
    let text = cut(&format!("link = \"leaf0-spine1\"\nnth = 1\n{down}"));
    assert_error(&text, "\"leaf0-spine1\"", &["no link number 1", "there are 1, numbered 0 to 0"]);
    let text = cut(&format!("link = \"bottleneck\"\n{down}"));
    assert_error(&text, "\"bottleneck\"", &["a leaf-spine has no link called `bottleneck`"]);
    let text = cut(&format!("link = \"leaf0-spine1\"\n{down}\nup = \"1 s\""));
    assert_error(&text, "\"1 s\"", &["fails at 1 s cannot recover at 1 s"]);
    let text = cut(&format!("link = \"leaf0-spine1\"\n{down}\nrate = \"900 Gbit/s\""));
    assert_error(&text, "\"1 s\"", &["[failure.cut] leaves 900 Gbit/s of a line of", "smaller"]);
    for (key, value, part) in [("reweight", "true", "`wcmp`"), ("detect", "\"1 ms\"", "no route")] {
        let text =
            cut(&format!("link = \"leaf0-spine1\"\n{down}\nrate = \"1 Gbit/s\"\n{key} = {value}"));
        assert_error(&text, value, &[part]);
    }
    assert_error(&cut("link = \"leaf0-spine1\""), "cut", &["`down` is missing in [failure.cut]"]);
    let routing = fabric(LEAVES, "8", "[routing]\nkind = \"spray\"\npolarised = true\n");
    assert_error(&routing, "true", &["`polarised` has no effect on `spray`"]);
}

/// Asserts the error of the base with other lines in [switch], without a marker.
#[track_caller]
fn switch(lines: &str, meant: &str, parts: &[&str]) {
    let old = "buffer = \"100 pkt\"\n[switch.mark]\nkind = \"step\"\nk = \"20 pkt\"";
    assert_one_error(old, lines, meant, parts);
}

#[test]
fn memory_that_is_not_there_or_not_used() {
    switch(
        "buffer = \"dynamic\"",
        "\"dynamic\"",
        &["needs the memory that ports share", "triumph"],
    );
    switch("count-in-service = true", "switch", &["`buffer` is missing in [switch]", "profile"]);
    switch("buffer = \"9 pkt\"\nalpha = 2", "2", &["`alpha` belongs to a dynamic buffer"]);
    switch("buffer = \"9 pkt\"\nmemory = \"4 MB\"", "\"4 MB\"", &["belongs to a dynamic buffer"]);
    switch(
        "buffer = \"dynamic\"\nmemory = \"4 MB\"\nalpha = 0",
        "0",
        &["`0` is not a ratio", "1/5"],
    );
    switch(
        "buffer = \"dynamic\"\nmemory = \"2 kB\"",
        "\"dynamic\"",
        &["holds no packet of 1500 B"],
    );
    let greedy = "buffer = \"dynamic\"\nmemory = \"9 kB\"\nreserved = \"3 kB\"";
    switch(greedy, "\"dynamic\"", &["reserve 12000 B"]);
    switch("profile = \"trumph\"", "\"trumph\"", &["`trumph` is unknown", "`triumph`"]);
}

#[test]
fn switches_without_ecn_and_thresholds_never_reached() {
    let old = "profile = \"cat4948\"\n[switch.mark]\nkind = \"step\"\nk = \"20 pkt\"";
    switch(old, "\"step\"", &["a cat4948 cannot mark: it has no ECN", "triumph"]);
    let high = "profile = \"triumph\"\n[switch.mark]\nkind = \"step\"\nk = \"800 kB\"";
    switch(
        high,
        "\"800 kB\"",
        &["above the 699050 B that a single active port may take", "nothing would ever be marked"],
    );
    let red =
        "buffer = \"100 pkt\"\n[switch.mark]\nkind = \"red\"\nmin = \"101 pkt\"\nmax = \"150 pkt\"";
    switch(red, "\"101 pkt\"", &["`min` = 101 pkt is above the buffer of 100 pkt"]);
}

#[test]
fn markers_of_every_kind() {
    let mark = |lines: &str, meant: &str, parts: &[&str]| {
        switch(&format!("buffer = \"100 pkt\"\n[switch.mark]\n{lines}"), meant, parts);
    };
    let red = |lines: &str| format!("kind = \"red\"\n{lines}");
    let text = red("min = \"50 pkt\"\nmax = \"50 pkt\"");
    mark(&text, "\"50 pkt\"", &["`max` of 50 pkt is not above `min` of 50 pkt"]);
    let text = red("min = \"5 pkt\"\nmax = \"50 kB\"");
    mark(&text, "\"50 kB\"", &["another unit than `min`"]);
    mark(&red("min = \"5 pkt\""), "\"red\"", &["needs its `max`"]);
    let both = "min = \"5 pkt\"\nmax = \"50 pkt\"\n";
    mark(
        &red(&format!("{both}max-p = \"0 %\"")),
        "\"0 %\"",
        &["no packet would be marked below `max`"],
    );
    mark(&red(&format!("{both}weight = 25")), "25", &["0 to 24"]);
    mark(&red(&format!("{both}k = \"20 pkt\"")), "\"20 pkt\"", &["`k` has no effect on `red`"]);
    let text = red(&format!("{both}signal = \"drop\"\nnot-ect = \"drop\""));
    mark(&text, "\"drop\"", &["every selected packet is dropped"]);
    mark("kind = \"pi\"", "\"pi\"", &["needs its `q-ref`"]);
    mark("kind = \"pi\"\nq-ref = 20\na = \"1 ppm\"\nb = \"1 ppm\"", "\"1 ppm\"", &["are unstable"]);
    mark("kind = \"codel\"\ninterval = \"0 s\"", "\"0 s\"", &["above zero"]);
    mark("kind = \"droptail\"\ntarget = \"5 ms\"", "\"5 ms\"", &["`target` has no effect without"]);
    mark("kind = \"droptail\"\nburst = \"5 ms\"", "\"5 ms\"", &["`burst` belongs to `pie`"]);
    mark("kind = \"pie\"\ninterval = \"5 ms\"", "\"5 ms\"", &["`interval` belongs to `codel`"]);
    mark("kind = \"pie\"\nperiod = \"0 s\"", "\"0 s\"", &["above zero"]);
    mark("kind = \"pie\"\nalpha = 0", "0", &["`0` is not a ratio"]);
}

#[test]
fn settings_of_switches_and_classes_that_are_not_there() {
    let at = "buffer = \"100 pkt\"\n[switch.at.leaf]\nbuffer = \"9 pkt\"";
    switch(at, "leaf", &["no switch is called `leaf`", "switch0"]);
    let class = |lines: &str| format!("buffer = \"100 pkt\"\n[switch.class.fast]\n{lines}");
    let text = class("service = \"strict\"\nquantum = \"9 kB\"");
    switch(&text, "\"9 kB\"", &["a strict class has no quantum"]);
    switch(&class("buffer = \"dynamic\""), "\"dynamic\"", &["needs the memory"]);
    let phantom = class("[switch.class.fast.mark]\nkind = \"phantom\"\nk = \"3 kB\"");
    switch(&phantom, "\"phantom\"", &["a whole line, not only the class `fast`"]);
}
