#!/usr/bin/env bash
# Builds the command of the last commit in two folders and compares the two files byte by byte. One
# is this folder, with all that its target folder has, unless it has uncommitted changes.
# usage: bash packaging/reproducible.sh [dist|release]
source "$(dirname "$0")/common.sh"
[ "$profile" != dev ] || {
    echo "skipped: the profile dev keeps paths of the sources"
    exit 77
}
parent=$(mktemp -d)
trap 'rm -rf "$parent"' EXIT
# Builds the clone $1 of this folder. Names have different lengths.
build_clone() {
    git clone -q --no-hardlinks . "$parent/$1"
    (
        cd "$parent/$1"
        unset RUSTFLAGS
        source packaging/common.sh "$profile"
        cargo build --quiet --locked "${package[@]}" --profile "$profile" --jobs "${JOBS:-2}"
        mv "target/$folder/lowtide" "$parent/$1.built"
        rm -rf target
    )
}
if [ -z "$(git status --porcelain)" ]; then
    cargo build --quiet --locked "${package[@]}" --profile "$profile" --jobs "${JOBS:-2}"
    cp "$program" "$parent/here.built"
else
    build_clone here
fi
build_clone another-folder
sha256sum "$parent"/*.built
cmp "$parent/here.built" "$parent/another-folder.built"
echo "two folders, same bytes"
