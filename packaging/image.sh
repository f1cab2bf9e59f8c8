#!/usr/bin/env bash
# Makes an OCI image with the statically linked command, and runs a scenario in it.
# usage: bash packaging/image.sh [dist|release|dev]
# Needs root, buildah and crun (apt install buildah crun).
source "$(dirname "$0")/common.sh"
need buildah "\`apt install buildah\` installs it"
need crun "\`apt install crun\` installs it"
# A static binary with the C library of this machine: no musl, whose allocator is slower. Only the
# link differs from the plain build, so the crates are not compiled again.
cargo rustc --locked "${package[@]}" --bin lowtide --profile "$profile" --jobs "${JOBS:-2}" -- \
    -C target-feature=+crt-static
mkdir -p "$out"
cp --remove-destination "$program" "$out/lowtide-static"
program=$out/lowtide-static
if LC_ALL=C readelf -lW "$program" | grep -q INTERP; then
    echo "error: $program needs a dynamic linker" >&2
    exit 1
fi
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
install_licences "$root/rootfs/usr/share/doc/lowtide"
# The static command contains the C library (LGPL-2.1) and the unwinder of GCC (GPL-3 with the
# exception for its runtime library) of this machine.
c_licences="LGPL-2.1-or-later AND GPL-3.0-or-later WITH GCC-exception-3.1"
for library in libc6 libgcc-s1; do
    copyright=/usr/share/doc/$library/copyright
    [ -s "$copyright" ] || {
        echo "error: $copyright is missing: the image would lack the licence of $library" >&2
        exit 1
    }
    install -D -m 644 "$copyright" "$root/rootfs$copyright"
done
install -D -m 644 -t "$root/rootfs/usr/share/common-licenses" \
    /usr/share/common-licenses/{GPL-3,LGPL-2.1}
[ "$profile" != dev ] || strip "$root/rootfs/usr/bin/lowtide"
find "$root/rootfs" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
container=$(buildah from scratch)
buildah copy -q "$container" "$root/rootfs" / >/dev/null
buildah config --entrypoint '["/usr/bin/lowtide"]' --cmd '' --workingdir /work \
    --label org.opencontainers.image.title=lowtide \
    --label "org.opencontainers.image.version=$version" \
    --label "org.opencontainers.image.licenses=$licences AND $c_licences" "$container"
rm -f "$archive"
buildah commit -q --disable-compression=false --timestamp "$SOURCE_DATE_EPOCH" "$container" \
    "oci:$root/oci:lowtide:$version" >/dev/null
# An archive by buildah has the current time in it.
tar -C "$root/oci" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    -cf "$archive" blobs index.json oci-layout

# Not every blob of the archive is a layer.
mkdir "$root/opened"
tar -C "$root/opened" -xf "$archive"
for blob in "$root"/opened/blobs/sha256/*; do
    tar -C "$root/opened" -xzf "$blob" usr/share/doc 2>/dev/null || true
done
same_notices "$archive" "$root/opened/usr/share/doc/lowtide/THIRD-PARTY-NOTICES.txt"

# The command in the image gives the digest of the built one: by buildah, and by crun.
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
# Runs the arguments by crun, without a network and with a read-only root but for /work. crun refuses
# hybrid control groups, so it sees version 2 only, in a mount namespace of its own.
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
        # shellcheck disable=SC2016
        unshare --mount sh -c '
            [ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ] || {
                umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup
            } && exec crun --cgroup-manager=disabled run --bundle "$1" "$2"
        ' sh "$root" "lowtide-$$"
    )
}
if reason=$(by_crun /usr/bin/lowtide --version 2>&1); then
    by_crun "${run[@]}" | same crun
else
    echo "crun is skipped, as it starts no container here: $reason"
fi
ls -l "$archive"
