#!/usr/bin/env bash
# Builds the Python wheel, installs it into a fresh virtual environment and runs the tests there.
# usage: bash packaging/wheel.sh [dist|release|dev] [arguments of pytest]
# Needs Python 3.10 and the package index. `dist` and `release` link against glibc 2.28 by zig, so
# that the wheel runs on the systems of manylinux_2_28; `dev` is for this machine.
source "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || shift
venv=target/python-venv
wheels=target/python-wheels
python3 -m venv --clear "$venv" 2>/dev/null || {
    apt-get update -q && apt-get install -q -y python3-venv
    python3 -m venv --clear "$venv"
}
rm -rf "$wheels"
cargo xtask notices --check
"$venv/bin/pip" install -q 'maturin>=1.9,<2'
portable=()
if [ "$profile" != dev ]; then
    "$venv/bin/pip" install -q ziglang auditwheel
    portable=(--zig --compatibility manylinux_2_28)
fi
# The virtual environment has the program that links: `python -m ziglang`.
PATH=$PWD/$venv/bin:$PATH maturin build --quiet --locked --profile "$profile" "${portable[@]}" \
    --out "$wheels"
wheel=$(ls "$wheels"/*.whl)
ls -l "$wheel"
"$venv/bin/python" -m zipfile -e "$wheel" "$wheels/unpacked"
same_notices "$wheel" "$wheels"/unpacked/lowtide-*.dist-info/licenses/THIRD-PARTY-NOTICES.txt
if [ "$profile" != dev ]; then
    # Not by a pipe: grep -q ends it early, which auditwheel reports as an error.
    audit=$("$venv/bin/auditwheel" show "$wheel")
    [[ $audit == *'consistent with'* && $audit == *'"manylinux_2_28_x86_64"'* ]] || {
        echo "$audit"
        echo "error: the wheel needs more than manylinux_2_28" >&2
        exit 1
    }
    [ "$(stat -c %s "$wheel")" -lt 25000000 ] || {
        echo "error: the wheel is larger than 25 MB" >&2
        exit 1
    }
fi
# The file, since the package index may have the name.
"$venv/bin/pip" install -q "$wheel[test]"
"$venv/bin/python" -m pytest -q "$@"
