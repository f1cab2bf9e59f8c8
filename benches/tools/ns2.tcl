# One TCP connection (or several) over sender - switch0 - switch1 - receiver in ns-2.
#   ns ns2.tcl KEY=VALUE ...
# The trace file has ns-2's packet trace with TCP headers and the changes of cwnd_ and ssthresh_.
# compare.py reads it.

foreach {key value} {
    agent TCP/FullTcp/Sack  sink -  trace out.tr  seconds 10  flows 1  bytes 146000
    access 1000Mb  rate 100Mb  delay 50ms  accessdelay 0ms  buffer 1000  k 0  drops ""  spacing 0
    window 1256  segsperack 1  spathresh 3000  interval 0.04  tick 0.01  minrto 0.2  ecn 0
    windowoption 0  nodelay false
} { set o($key) $value }
foreach argument $argv {
    if {![regexp {^([a-z0-9]+)=(.*)$} $argument -> key value]} { error "bad argument $argument" }
    if {![info exists o($key)]} { error "unknown key $key" }
    set o($key) $value
}

# The values of the script that came with the DCTCP patch (docs/evidence/tools/ns2.md, S).
Agent/TCP set ecn_ $o(ecn)
Agent/TCP set old_ecn_ $o(ecn)
Agent/TCP set packetSize_ 1460
Agent/TCP set window_ $o(window)
Agent/TCP set slow_start_restart_ false
Agent/TCP set tcpTick_ $o(tick)
Agent/TCP set minrto_ $o(minrto)
Agent/TCP set windowOption_ $o(windowoption)
Agent/TCP/FullTcp set segsize_ 1460
Agent/TCP/FullTcp set segsperack_ $o(segsperack)
Agent/TCP/FullTcp set spa_thresh_ $o(spathresh)
Agent/TCP/FullTcp set interval_ $o(interval)
Agent/TCP/FullTcp set nodelay_ $o(nodelay)
Queue set limit_ 100000
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ true
Queue/RED set mean_pktsize_ 1500
Queue/RED set setbit_ true
Queue/RED set gentle_ false
Queue/RED set q_weight_ 1.0
# Without the patch a step drops, unless use_mark_p_ is set: red.cc, REDQueue::enque.
Queue/RED set use_mark_p_ true
Queue/RED set mark_p_ 2.0
Queue/RED set thresh_ $o(k)
Queue/RED set maxthresh_ $o(k)
DelayLink set avoidReordering_ true
Trace set show_tcphdr_ 1

set ns [new Simulator]
set file [open $o(trace) w]
set s [$ns node]
set a [$ns node]
set b [$ns node]
set r [$ns node]
$ns duplex-link $s $a $o(access) $o(accessdelay) DropTail
$ns simplex-link $a $b $o(rate) $o(delay) [expr {$o(k) > 0 ? "RED" : "DropTail"}]
$ns simplex-link $b $a $o(rate) $o(delay) DropTail
$ns duplex-link $b $r $o(access) $o(accessdelay) DropTail
$ns queue-limit $a $b $o(buffer)
$ns trace-queue $s $a $file
$ns trace-queue $a $b $file
$ns trace-queue $r $b $file
# Packets dropped behind the receiver's line, by their number on it from 0.
if {$o(drops) ne ""} {
    set loss [new ErrorModel/List]
    $loss droplist $o(drops)
    $loss drop-target [new Agent/Null]
    $ns link-lossmodel $loss $b $r
}

for {set i 0} {$i < $o(flows)} {incr i} {
    set tcp($i) [new Agent/$o(agent)]
    if {$o(sink) eq "-"} {
        set sink($i) [new Agent/$o(agent)]
        $sink($i) listen
    } else {
        set sink($i) [new Agent/$o(sink)]
    }
    $ns attach-agent $s $tcp($i)
    $ns attach-agent $r $sink($i)
    $tcp($i) set fid_ $i
    $sink($i) set fid_ $i
    $ns connect $tcp($i) $sink($i)
    $tcp($i) attach $file
    $tcp($i) tracevar cwnd_
    $tcp($i) tracevar ssthresh_
    set ftp($i) [new Application/FTP]
    $ftp($i) attach-agent $tcp($i)
    $ns at [expr {0.1 + $i * $o(spacing)}] "$ftp($i) send $o(bytes)"
}
$ns at $o(seconds) "$ns flush-trace; close $file; exit 0"
$ns run
