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

if [ -n "${LOWTIDE_ADVISORY_DB:-}" ]; then
    # cargo-deny finds the clone by this name, which it derives from the address of RustSec.
    database=$(mktemp -d)
    trap 'rm -r "$database"' EXIT
    git clone --quiet "$LOWTIDE_ADVISORY_DB" "$database/advisory-db-3157b0e258782691"
    git -C "$database/advisory-db-3157b0e258782691" log -1 --format='advisories: as of %cs'
    # Without a time of its last fetch the database counts as too old.
    touch "$database/advisory-db-3157b0e258782691/.git/FETCH_HEAD"
    sed "s|^db-path = .*|db-path = \"$database\"|" deny.toml >"$database/deny.toml"
    cargo deny --locked --offline --config "$database/deny.toml" check advisories
elif reason=$(cargo deny --locked fetch db 2>&1); then
    cargo deny --locked check advisories
else
    echo "$reason" | tail -n 3
    echo "advisories: skipped, since the database cannot be fetched; set LOWTIDE_ADVISORY_DB"
fi
