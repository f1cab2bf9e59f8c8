#!/usr/bin/env bash
# Compiles cc_lt_dctcp.c against the headers of FreeBSD's kernel, with and without network stacks
# per jail (VIMAGE) and assertions (INVARIANTS); every warning is an error. Needs clang.
#
#     sh kernel/freebsd/headers.sh /usr/src/sys
#
# Further folders are searched in their order, for a tree that is not whole.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

if [ $# -eq 0 ]; then
    echo "not compiled against FreeBSD's headers: give the path of sys/ in a source tree"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
include=(-I"$work")
for tree in "$@"; do
    include+=(-isystem "$tree" -isystem "$tree/contrib/ck/include")
    [ -d "$tree/amd64/include" ] || continue
    ln -sfn "$(realpath "$tree")/amd64/include" "$work/machine"
    ln -sfn "$(realpath "$tree")/x86/include" "$work/x86"
done
warnings=(-Wall -Wextra -Wno-unused-parameter -Wcast-qual -Wmissing-prototypes -Wnested-externs
    -Wno-pointer-sign -Wpointer-arith -Wstrict-prototypes -Wundef -Werror)
for options in "" "-DVIMAGE" "-DVIMAGE -DINVARIANTS -DINVARIANT_SUPPORT"; do
    # shellcheck disable=SC2086
    clang --target=x86_64-unknown-freebsd -std=gnu17 -O2 -ffreestanding -nostdinc -D_KERNEL \
        -DKLD_MODULE -DINET -DINET6 $options -fno-common -mcmodel=kernel -mno-red-zone -mno-sse \
        "${warnings[@]}" "${include[@]}" -c "$here/cc_lt_dctcp.c" -o "$work/cc_lt_dctcp.o"
    echo "compiled: ${options:-no options}"
done
