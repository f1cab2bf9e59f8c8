#!/usr/bin/env bash
# Checks the crates of others: licences, sources, double versions (deny.toml), known faults and
# missing maintainers (the advisories of RustSec), and the committed notices.
# usage: bash packaging/supply-chain.sh
# Needs cargo-deny. LOWTIDE_ADVISORY_DB names a clone of https://github.com/rustsec/advisory-db;
# without it cargo-deny fetches the advisories, and that check is skipped if it cannot.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo xtask notices --check
command -v cargo-deny >/dev/null || {
    echo "error: cargo-deny is missing; \`cargo install cargo-deny --locked\` installs it" >&2
    exit 1
}
cargo deny --locked check licenses bans sources

config=deny.toml
if [ -n "${LOWTIDE_ADVISORY_DB:-}" ]; then
    config=$(mktemp --suffix=.toml)
    trap 'rm -f "$config"' EXIT
    clone=$(realpath "$LOWTIDE_ADVISORY_DB")
    sed "s|^db-path = .*|&\ndb-urls = [\"file://$clone\"]|; s|\"target/|\"$PWD/target/|" \
        deny.toml >"$config"
fi
deny=(cargo deny --locked --config "$config")
if reason=$("${deny[@]}" fetch db 2>&1); then
    "${deny[@]}" check advisories
else
    echo "$reason" | tail -n 3
    echo "advisories: skipped, since the database cannot be fetched; set LOWTIDE_ADVISORY_DB"
fi
