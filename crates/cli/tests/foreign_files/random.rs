//! Random choices, and values that have caused harm.

/// SplitMix64.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// True in one of `n` cases.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Texts that are paths, devices, options, numbers at a limit, or control characters.
pub(crate) const TEXTS: [&str; 34] = [
    "/dev/zero",
    "/dev/urandom",
    "/dev/stdin",
    "/etc/passwd",
    "/proc/self/mem",
    "../outside/secret.txt",
    "../../outside/victim.txt",
    "../outside",
    "..",
    ".",
    "",
    "/",
    "a/../../../outside/victim.txt",
    "pipe",
    "link",
    "results/manifest.json",
    "manifest.json",
    "repeated/manifest.json",
    "partial/x/run.json",
    "lowtide run first-light --backend live",
    "lowtide run first-light -o ../outside --afresh",
    "lowtide kernel load lt_dctcp",
    "lowtide matrix --senders dctcp --receivers dctcp --neighbours none -o ../outside",
    "lowtide papers reproduce dx-fig17 --quick",
    "lowtide run /dev/zero",
    "$(touch ../outside/made)",
    "x; touch ../outside/made",
    "\u{1b}]0;title\u{7}",
    "a\nb",
    "nan",
    "-1",
    "18446744073709551616",
    "1e308",
    "ä/…",
];

/// Changes bytes: flips a bit, overwrites, inserts, removes or repeats a piece, or cuts the end.
pub(crate) fn change_bytes(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..=rng.below(3) {
        let at = rng.below(bytes.len());
        let end = (at + 1 + rng.below(40)).min(bytes.len());
        match rng.below(6) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << rng.below(8),
            1 if !bytes.is_empty() => bytes[at] = rng.next() as u8,
            2 => drop(bytes.splice(at..at, rng.pick(&TEXTS).bytes())),
            3 => drop(bytes.drain(at..end)),
            4 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => bytes.truncate(at),
        }
    }
}
