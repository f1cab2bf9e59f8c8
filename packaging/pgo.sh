#!/usr/bin/env bash
# Builds the command with profile-guided optimisation: target/pgo/lowtide. Then compares its speed
# with the plain build in alternating runs.
# usage: bash packaging/pgo.sh [dist|release]
# Packages do not use it: two trainings give different profiles, so builds would not be equal.
source "$(dirname "$0")/common.sh"
profdata=$(find "$(rustc --print sysroot)" -name llvm-profdata | head -n 1)
[ -n "$profdata" ] || {
    echo "skipped: llvm-profdata is missing; \`rustup component add llvm-tools\` installs it"
    exit 77
}
plain=${RUSTFLAGS:-}
pgo=$PWD/target/pgo
rm -rf "$pgo/profile"
mkdir -p "$pgo"
# Builds with the further flags $1 into the target folder $2. One folder each: flags change all.
compile() {
    RUSTFLAGS="$plain $1" cargo build --quiet --locked "${package[@]}" --profile "$profile" \
        --jobs "${JOBS:-2}" --target-dir "$pgo/$2"
}
training=(dumbbell-10 incast-64 perm-128 load-128 perm-1024)
measured=(dumbbell-10 incast-64 perm-128 load-128)
compile "-Cprofile-generate=$pgo/profile" training
for name in "${training[@]}"; do
    "$pgo/training/$folder/lowtide" --quiet bench "$name" -n 1 --threads 1
done
"$profdata" merge -o "$pgo/profile.profdata" "$pgo/profile"
compile "-Cprofile-use=$pgo/profile.profdata" optimised
compile "" plain
cp "$pgo/optimised/$folder/lowtide" "$pgo/lowtide"
for round in 1 2 3; do
    for build in plain optimised; do
        echo "== round $round, $build"
        "$pgo/$build/$folder/lowtide" --quiet bench "${measured[@]}" -n 3 --threads 1
    done
done
