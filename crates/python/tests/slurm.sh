#!/bin/bash
# A Slurm of this machine alone, for tests, without Munge, control groups and accounting:
# `slurm.sh up DIR` starts it, then SLURM_CONF=DIR/slurm.conf; `slurm.sh down DIR` ends it.
# Needs root and Debian's packages slurm-wlm, slurmctld and slurmd.
set -euo pipefail

action=${1:?up or down} dir=$(realpath -m "${2:?a directory}")
host=$(hostname -s)

down() {
    for daemon in slurmd slurmctld; do
        if [ -s "$dir/$daemon.pid" ]; then
            kill "$(cat "$dir/$daemon.pid")" 2>/dev/null || true
        fi
    done
    for _ in $(seq 50); do
        [ -e "$dir/slurmd.pid" ] || [ -e "$dir/slurmctld.pid" ] || break
        sleep 0.1
    done
}

up() {
    mkdir -p "$dir/state" "$dir/spool"
    # A job that is queued again starts after cred_expire seconds; the default is 120.
    cat >"$dir/slurm.conf" <<EOF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
AuthType=auth/none
AuthInfo=cred_expire=5
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
KillWait=2
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
SchedulerParameters=sched_interval=1,batch_sched_delay=0,defer=0
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
EOF
    export SLURM_CONF=$dir/slurm.conf
    slurmctld -c -f "$SLURM_CONF"
    slurmd -c -f "$SLURM_CONF"
    for _ in $(seq 100); do
        if [ "$(sinfo -h -o %T 2>/dev/null)" = idle ]; then
            return
        fi
        sleep 0.2
    done
    echo "the node is not idle after 20 s; see $dir/slurmctld.log" >&2
    down
    exit 1
}

case $action in
up | down) "$action" ;;
*) echo "use: slurm.sh up DIR, or slurm.sh down DIR" >&2; exit 2 ;;
esac
