#!/usr/bin/env bash
# A soak of the BPF controls: connections open, switch controls, wait and end while controls come
# and go, over a shaped bottleneck that marks. Prints memory, objects, windows above the written
# ones, marks, drops and the kernel's new messages.
#
#     soak.sh SECONDS RATE PERIOD CONTROL... -- ECN...
#
# PERIOD: seconds between loads. ECN: `net.ipv4.tcp_ecn` of sender and receiver, as 1/1, in turn.
# WALL: seconds of the host's clock after which a guest ends early. LOWTIDE: the command. PREFIX: of
# the names of its namespaces and devices. It unloads only what it has loaded. Its folder also has
# `traffic`, and `mark.o` for kernels without red:
#
#     gcc -O2 -static -o traffic traffic.c
#     clang -O2 -g -target bpf -I/usr/include/x86_64-linux-gnu -c mark.bpf.c -o mark.o
#
# On the newest kernel of the fleet, with this folder:
#
#     cargo test -p lowtide --features kernel --test kernels -- \
#         guest newest --limit 1500 --copy soak -- \
#         bash soak/soak.sh 1200 3mbit 40 lt_dctcp lt_odctcp_snd -- 1/1 3/2 3/3 2/1 1/3
cd "$(dirname "$0")" || exit 2
seconds=$1 rate=$2 period=$3
shift 3
controls=()
while [ "$1" != -- ]; do
    controls+=("$1")
    shift
done
shift
modes=("$@")
prefix=${PREFIX:-soak}
from=${prefix}a middle=${prefix}m to=${prefix}d
lowtide=${LOWTIDE:-lowtide}
work=$(mktemp -d)

uptime() { cut -d. -f1 /proc/uptime; }
# The RTC of a guest shows the host's time.
wall() { cat /sys/class/rtc/rtc0/since_epoch 2>/dev/null || uptime; }
start=$(uptime)
say() { echo "[$(($(uptime) - start))] $*"; }
in_each_end() { for n in "$from" "$to"; do ip netns exec "$n" sh -c "$1"; done; }

mkdir -p /run/netns
mountpoint -q /sys/fs/bpf 2>/dev/null || mount -t bpf bpf /sys/fs/bpf
for n in "$from" "$middle" "$to"; do
    ip netns add "$n"
    ip -n "$n" link set lo up
done
ip link add "${prefix}0" netns "$from" type veth peer name "${prefix}1" netns "$middle"
ip link add "${prefix}3" netns "$to" type veth peer name "${prefix}2" netns "$middle"
while read -r n device address; do
    ip -n "$n" addr add "$address" dev "$device"
    ip netns exec "$n" ./traffic off "$device"
    ip -n "$n" link set "$device" up
done <<END
$from ${prefix}0 10.1.0.1/24
$middle ${prefix}1 10.1.0.2/24
$middle ${prefix}2 10.2.0.2/24
$to ${prefix}3 10.2.0.1/24
END
ip -n "$from" route add default via 10.1.0.2
ip -n "$to" route add default via 10.2.0.2
ip netns exec "$middle" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
in_each_end 'echo reno >/proc/sys/net/ipv4/tcp_congestion_control'
qdisc() { ip netns exec "$middle" tc qdisc "$@"; }
qdisc add dev "${prefix}2" root handle 1: tbf rate "$rate" burst 3200 limit 900000
if ! qdisc add dev "${prefix}2" parent 1:1 handle 10: red limit 600000 min 30000 max 30001 \
    avpkt 1500 burst 21 bandwidth "$rate" probability 1 ecn nodrop 2>/dev/null; then
    say "no red: one of 64 packets is marked, and the queue holds 60 packets"
    qdisc change dev "${prefix}2" root handle 1: tbf rate "$rate" burst 3200 limit 90000
    qdisc add dev "${prefix}2" clsact
    ip netns exec "$middle" tc filter add dev "${prefix}2" egress bpf da obj mark.o sec tc
fi
queue() {
    local drop='s/.*red 10:/red/; s/qdisc clsact.*//'
    ip netns exec "$middle" tc -s qdisc show dev "${prefix}2" | tr '\n' ' ' | sed "$drop"
}
ecn() {
    ip netns exec "$from" sh -c "echo ${1%/*} >/proc/sys/net/ipv4/tcp_ecn" &&
        ip netns exec "$to" sh -c "echo ${1#*/} >/proc/sys/net/ipv4/tcp_ecn"
}
is_loaded() { grep -qw "$1" /proc/sys/net/ipv4/tcp_available_congestion_control; }
others=(reno cubic)
if is_loaded dctcp; then others+=(dctcp); fi

memory() {
    echo 3 >/proc/sys/vm/drop_caches
    sleep 2
    local names='^(MemFree|Slab|SReclaimable|SUnreclaim|KernelStack|VmallocUsed|Percpu):'
    say "memory $1: $(grep -E "$names" /proc/meminfo | awk '{ printf "%s %s kB; ", $1, $2 }')"
    local locked='{ for (i = 1; i < NF; i++) if ($i == "memlock") s += $(i + 1) }
        END { print s + 0 }'
    say "objects $1: controls $(bpftool struct_ops list | grep -c lt_)," \
        "programs $(bpftool prog | grep -c ' name lt_'), maps $(bpftool map | grep -c ' name ')," \
        "links $(bpftool link | grep -c '^[0-9]')," \
        "locked by maps $(bpftool map | awk "$locked"), by programs $(bpftool prog | awk "$locked")"
    say "sockets $1: $(ip netns exec "$from" grep TCP: /proc/net/sockstat)"
}

loads=0 unloads=0 in_use=0 forced=0
declare -A ours
load() {
    is_loaded "$1" && return
    if $lowtide -q kernel load "$1" >"$work/output" 2>&1; then
        ours[$1]=1
        loads=$((loads + 1))
    else
        say "load $1: $(cat "$work/output")"
    fi
}
# Without `force` the kernel's refusal of a control in use is counted.
unload() {
    [ -n "${ours[$1]}" ] || return
    if $lowtide -q kernel unload "$1" >"$work/output" 2>&1; then
        unloads=$((unloads + 1))
    elif [ "$2" = force ] && $lowtide -q kernel unload "$1" --force >"$work/output" 2>&1; then
        forced=$((forced + 1))
    else
        in_use=$((in_use + 1))
        return
    fi
    unset "ours[$1]"
}
begin_traffic() {
    ip netns exec "$to" ./traffic sink 5001 reno "${controls[@]}" >"$work/sink1" &
    sinks=($!)
    ip netns exec "$to" ./traffic sink 5002 "${others[@]}" "${controls[@]}" >"$work/sink2" &
    sinks+=($!)
    sleep 1
    ip netns exec "$from" ./traffic open 10.2.0.1 5001 "$1" 3 11 "${controls[@]}" >"$work/open1" &
    opens=($!)
    ip netns exec "$from" ./traffic open 10.2.0.1 5002 "$1" 3 13 "${controls[@]}" "${others[@]}" \
        >"$work/open2" &
    opens+=($!)
}
end_traffic() {
    wait "${opens[@]}"
    kill "${sinks[@]}"
    wait "${sinks[@]}"
    cat "$work"/{open,sink}[12]
}

messages=$(dmesg | wc -l)
say "$(uname -r), ${controls[*]}, beside ${others[*]}; tcp_ecn ${modes[*]}"
# Caches and lists reach their size before the first look at memory.
ecn "${modes[0]}"
for control in "${controls[@]}"; do load "$control"; done
begin_traffic 10
end_traffic
for control in "${controls[@]}"; do unload "$control" force; done
memory before

begin=$(uptime) wall_begin=$(wall) step=0
for control in "${controls[@]}"; do load "$control"; done
begin_traffic "$seconds"
while [ $(($(uptime) - begin)) -lt "$seconds" ] &&
    [ $(($(wall) - wall_begin)) -lt "${WALL:-100000}" ]; do
    sleep "$period"
    control=${controls[step % ${#controls[@]}]}
    if ! is_loaded "$control"; then
        load "$control"
    elif [ $((step / 2 % 3)) = 0 ]; then
        unload "$control"
    else
        unload "$control" force
        [ $((step / 2 % 3)) = 1 ] || load "$control"
    fi
    [ $((step % 6)) = 5 ] && for control in "${controls[@]}"; do load "$control"; done
    mode=${modes[step % ${#modes[@]}]}
    ecn "$mode" || say "tcp_ecn $mode is refused"
    say "tcp_ecn $mode; $(queue)"
    [ $((step % 3)) = 0 ] && $lowtide -q kernel stats --json >>"$work/stats"
    step=$((step + 1))
done
kill "${opens[@]}" 2>/dev/null
end_traffic
say "$step steps, $(($(uptime) - begin)) s of the kernel," \
    "$(($(wall) - wall_begin)) s of the host;" \
    "loads $loads, unloads $unloads, forced $forced, refused as in use $in_use; $(queue)"
for control in "${controls[@]}"; do unload "$control" force; done
awk -F'[:,]' '/"control"/ { c = $2 } /"fell_back"/ { f = $2 } /"ecn"/ { e = $2 }
    /"leaps"/ { k = c " fell_back" f " ecn" e; n[k]++; l[k] += $2 }
    END { for (k in n) print "stats:" k, "sockets seen", n[k], "leaps", l[k] }' "$work/stats" | sort
# Sockets in TIME-WAIT keep memory for 60 s, orphans for 100 s.
sleep 125
memory after
say "new messages of the kernel:"
dmesg | tail -n "+$((messages + 1))"
for n in "$from" "$middle" "$to"; do ip netns del "$n"; done
rm -r "$work"
