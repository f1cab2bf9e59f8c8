#!/usr/bin/env bash
# One fuzz target for some seconds, from work/TARGET and corpus/TARGET: bash fuzz/run.sh TARGET SECONDS
# Further arguments go to libFuzzer.
set -euo pipefail
cd "$(dirname "$0")"
target=$1 seconds=$2
shift 2
command -v cargo-fuzz >/dev/null || { echo "cargo-fuzz is missing: cargo install cargo-fuzz" >&2; exit 1; }
mkdir -p "work/$target"
# The fuzzer needs unstable compiler flags; the code under test does not. Longer inputs than 4096 B
# find nothing new, and a slower one than 120 s is a finding.
RUSTC_BOOTSTRAP=1 cargo fuzz run --sanitizer none "$target" "work/$target" "corpus/$target" \
    -- -max_total_time="$seconds" -max_len=4096 -timeout=120 -rss_limit_mb=4096 -print_final_stats=1 "$@"
