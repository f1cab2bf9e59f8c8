#!/usr/bin/env bash
# Makes the Debian package target/package/lowtide_VERSION_ARCH.deb and runs the command in it.
# usage: bash packaging/deb.sh [dist|release|dev]
source "$(dirname "$0")/common.sh"
need cargo-deb "\`cargo install cargo-deb --locked\` installs it"
need dpkg-deb "it is part of Debian"
build
gzip -9nc CHANGELOG.md >"$out/changelog.gz"
install_licences "$out/licences"
gzip -9nc THIRD-PARTY-NOTICES.txt >"$out/licences/THIRD-PARTY-NOTICES.txt.gz"
cat >"$out/changelog" <<END
lowtide ($version-1) unstable; urgency=medium

  * changelog.gz lists the changes of this version.

 -- The lowtide authors <maintainers@users.noreply.github.com>  $(date -uRd "@$SOURCE_DATE_EPOCH")
END
# cargo-deb reads the assets of target/package and the binary of the profile.
cargo deb --quiet --locked --no-build --profile "$profile" -p lowtide -o "$out/"
package=$(ls -t "$out"/lowtide_*.deb | head -n 1)

unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
dpkg-deb -x "$package" "$unpacked"
for file in usr/bin/lowtide usr/share/man/man1/lowtide-run.1.gz usr/share/doc/lowtide/copyright \
    usr/share/bash-completion/completions/lowtide; do
    [ -s "$unpacked/$file" ] || {
        echo "error: the package lacks $file" >&2
        exit 1
    }
done
notices=$unpacked/usr/share/doc/lowtide/THIRD-PARTY-NOTICES.txt
gunzip -k "$notices.gz"
same_notices "$package" "$notices"
# The packaged command gives the digest of the built one.
digest() { "$@" --quiet --json run first-light --afresh | grep -m1 '"digest"'; }
here=$PWD
built=$(cd "$unpacked" && digest "$here/$program")
packaged=$(cd "$unpacked" && digest ./usr/bin/lowtide)
[ -n "$built" ] && [ "$built" = "$packaged" ] || {
    echo "error: the packaged command gives $packaged instead of $built" >&2
    exit 1
}
if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error "$here/$package"
else
    echo "lintian is missing: the package is not checked against Debian's policy"
fi
ls -l "$package"
