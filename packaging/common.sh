# Shared by the scripts of this folder: variables, the build and its further files.
# Source it with the profile as the argument: `dist` (the default), `release` or `dev`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
profile=${1:-dist}
folder=$profile
[ "$profile" != dev ] || folder=debug
program=target/$folder/lowtide
out=target/package
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
# Packages have the figures for papers, which the default build lacks.
package=(-p lowtide --features lowtide/figures)
# SPDX expression of all that the packages contain.
licences=$(sed -n 's/^license = "\(.*\)"/\1/p' pyproject.toml)

# Builds are to depend on the sources only: no paths of this machine, no time but the commit's.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH CARGO_INCREMENTAL=0
cargo_home=${CARGO_HOME:-$HOME/.cargo}
if [ "$profile" != dev ]; then
    # Cargo ignores `strip` of a profile for packages with an override, as `lowtide`.
    [ "$profile" != dist ] || RUSTFLAGS="${RUSTFLAGS:-} -C strip=symbols"
    export RUSTFLAGS="${RUSTFLAGS:-} --remap-path-prefix=$PWD=/lowtide --remap-path-prefix=$cargo_home=/cargo"
fi

# Builds the command, its man pages and completions.
build() {
    cargo build --locked "${package[@]}" --profile "$profile" --jobs "${JOBS:-2}"
    # Its size has a limit.
    [ "$profile" != dist ] || cargo xtask lines
    rm -rf "$out/man" "$out/completions"
    mkdir -p "$out/completions"
    "$program" --quiet man "$out/man"
    "$program" completions bash >"$out/completions/lowtide"
    "$program" completions zsh >"$out/completions/_lowtide"
    "$program" completions fish >"$out/completions/lowtide.fish"
}

# Writes the licences into the folder $1: ours, and those of all parts that others wrote.
install_licences() {
    cargo xtask notices --check
    mkdir -p "$1"
    install -m 644 LICENSE-APACHE LICENSE-MIT THIRD-PARTY-NOTICES.txt "$1"
}

# Fails unless the file $2 of the package $1 has the committed notices.
same_notices() {
    cmp -s "$2" THIRD-PARTY-NOTICES.txt || {
        echo "error: $1 lacks THIRD-PARTY-NOTICES.txt or has another one" >&2
        exit 1
    }
    echo "$1: has the licences of $(grep -c '^[^ ]* [0-9][^ ]*: ' "$2") crates"
}

# Ends the script with the status of a skipped part unless the program $1 exists.
need() {
    command -v "$1" >/dev/null || {
        echo "skipped: $1 is missing; $2"
        exit 77
    }
}
