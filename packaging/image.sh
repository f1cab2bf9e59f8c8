#!/usr/bin/env bash
# Makes an OCI image with the statically linked command, and runs a scenario in it.
# usage: bash packaging/image.sh [dist|release|dev]
# Needs root, buildah and crun (apt install buildah crun).
source "$(dirname "$0")/common.sh"
need buildah "\`apt install buildah\` installs it"
need crun "\`apt install crun\` installs it"
# A static binary with the C library of this machine: no musl, whose allocator is slower.
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+crt-static"
cargo build --locked -p lowtide --profile "$profile" --jobs "${JOBS:-2}" --target "$host" \
    --target-dir target/static
program=target/static/$host/$folder/lowtide
if LC_ALL=C readelf -lW "$program" | grep -q INTERP; then
    echo "error: $program needs a dynamic linker" >&2
    exit 1
fi
mkdir -p "$out"
archive=$out/lowtide-$version.oci.tar
root=$(mktemp -d)
container=
clean() {
    [ -z "$container" ] || buildah rm "$container" >/dev/null
    rm -rf "$root"
}
trap clean EXIT

# The image is a directory with the binary and places to mount.
mkdir -p "$root/rootfs/usr/bin" "$root/rootfs/tmp" "$root/rootfs/work" "$root/rootfs/proc" \
    "$root/rootfs/dev" "$root/rootfs/sys"
install -m 755 "$program" "$root/rootfs/usr/bin/lowtide"
[ "$profile" != dev ] || strip "$root/rootfs/usr/bin/lowtide"
find "$root/rootfs" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
container=$(buildah from scratch)
buildah copy -q "$container" "$root/rootfs" / >/dev/null
buildah config --entrypoint '["/usr/bin/lowtide"]' --cmd -- --workingdir /work \
    --label org.opencontainers.image.title=lowtide \
    --label "org.opencontainers.image.version=$version" \
    --label org.opencontainers.image.licenses="MIT OR Apache-2.0" "$container"
rm -f "$archive"
buildah commit -q --timestamp "$SOURCE_DATE_EPOCH" "$container" "oci-archive:$archive:$version" \
    >/dev/null

# The command in the image gives the digest of the built one: by buildah, and by crun, which needs
# control groups that some machines lack.
run=(/usr/bin/lowtide --quiet --json run first-light -o out)
expect=$("$program" --quiet --json run first-light -o "$root/out" | grep '"digest"' | head -n 1)
same() {
    local found
    found=$(grep '"digest"' | head -n 1)
    [ -n "$expect" ] && [ "$expect" = "$found" ] || {
        echo "error: the image gives \`$found\` by $1 instead of \`$expect\`" >&2
        exit 1
    }
    echo "$1: same digest"
}
buildah run "$container" -- "${run[@]}" | same buildah
# Runs the arguments by crun, without a network and with a read-only root but for /work.
by_crun() {
    local args
    args=$(printf '"%s", ' "$@")
    (
        cd "$root"
        rm -f config.json
        crun spec
        sed -i "s/\"terminal\": true/\"terminal\": false/; s|\"sh\"|${args%, }|" config.json
        sed -i 's|"cwd": "/"|"cwd": "/work"|' config.json
        sed -i 's|"mounts": \[|"mounts": [{"destination": "/work", "type": "tmpfs", "source": "tmpfs"},|' config.json
        crun --cgroup-manager=disabled run --bundle "$root" "lowtide-$$"
    )
}
if reason=$(by_crun /usr/bin/lowtide --version 2>&1); then
    by_crun "${run[@]}" | same crun
else
    echo "crun is skipped, as it starts no container here: $reason"
fi
ls -l "$archive"
