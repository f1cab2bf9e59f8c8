#!/usr/bin/env bash
# All packages, one after the other. A part whose programs are missing is skipped with its reason.
# usage: bash packaging/suite.sh [dist|release|dev]
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0
for part in deb image sbom reproducible; do
    echo "== $part"
    bash "packaging/$part.sh" "$@"
    status=$?
    case $status in
        0) echo "== $part: passed" ;;
        77) echo "== $part: skipped" ;;
        *) echo "== $part: failed ($status)" && failed=1 ;;
    esac
done
exit $failed
