#!/usr/bin/env bash
# Builds the command of the last commit in two folders and compares the two files byte by byte.
# usage: bash packaging/reproducible.sh [dist|release]
source "$(dirname "$0")/common.sh"
[ "$profile" != dev ] || {
    echo "skipped: the profile dev keeps paths of the sources"
    exit 77
}
parent=$(mktemp -d)
trap 'rm -rf "$parent"' EXIT
# Two names of different lengths.
for folder_name in a another-folder; do
    git clone -q --no-hardlinks . "$parent/$folder_name"
    (
        cd "$parent/$folder_name"
        unset RUSTFLAGS
        source packaging/common.sh "$profile"
        cargo build --quiet --locked -p lowtide --profile "$profile" --jobs "${JOBS:-2}"
        mv "target/$folder/lowtide" "$parent/$folder_name.built"
        rm -rf target
    )
done
sha256sum "$parent"/*.built
cmp "$parent/a.built" "$parent/another-folder.built"
echo "two folders, same bytes"
