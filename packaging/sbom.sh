#!/usr/bin/env bash
# Writes the list of components (CycloneDX) of the command: target/package/lowtide.cdx.json.
source "$(dirname "$0")/common.sh"
need cargo-cyclonedx "\`cargo install cargo-cyclonedx --locked\` installs it"
mkdir -p "$out"
cargo cyclonedx --manifest-path crates/cli/Cargo.toml --features figures --format json \
    --override-filename lowtide.cdx
# Without paths of this machine, as in the command.
sed "s|file://$PWD/|file:///lowtide/|g" crates/cli/lowtide.cdx.json >"$out/lowtide.cdx.json"
find crates examples xtask -name lowtide.cdx.json -delete
grep -q '"bomFormat": "CycloneDX"' "$out/lowtide.cdx.json"
ls -l "$out/lowtide.cdx.json"
