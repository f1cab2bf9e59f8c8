// Peer program for gVisor's netstack: one connection over a TUN interface, as
// crates/interop/src/script.rs specifies.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/link/tun"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

const (
	nic   = 1
	mtu   = 1500
	piece = 16 << 10
	// With a backlog of one every SYN-ACK is a SYN cookie, without SACK and window scaling.
	backlog = 16
)

// script describes one end of one connection.
type script struct {
	connect     bool
	tun         string
	local       tcpip.FullAddress
	remote      tcpip.FullAddress
	network     tcpip.NetworkProtocolNumber
	prefix      int
	send        uint64
	seed        uint64
	afterFin    bool
	resetAt     uint64
	pause       time.Duration
	window      int
	limit       time.Duration
	localPortIn uint16
}

// report is the result of this end.
type report struct {
	Sent     uint64 `json:"sent"`
	Received uint64 `json:"received"`
	Checksum string `json:"checksum"`
	Ended    string `json:"ended"`
}

func parse(args []string) (script, error) {
	values := map[string]string{}
	for _, arg := range args {
		key, value, found := strings.Cut(arg, "=")
		if !found {
			return script{}, fmt.Errorf("`%s` is not key=value", arg)
		}
		values[key] = value
	}
	var failed error
	number := func(key string) uint64 {
		n, err := strconv.ParseUint(values[key], 10, 64)
		if err != nil {
			failed = fmt.Errorf("`%s=` takes a number", key)
		}
		return n
	}
	address := func(key string) tcpip.Address {
		ip := net.ParseIP(values[key])
		if ip == nil {
			failed = fmt.Errorf("`%s=` takes an address", key)
			return tcpip.Address{}
		}
		if v4 := ip.To4(); v4 != nil {
			ip = v4
		}
		return tcpip.AddrFromSlice(ip)
	}
	s := script{
		connect:     values["open"] == "connect",
		tun:         values["tun"],
		local:       tcpip.FullAddress{NIC: nic, Addr: address("local")},
		remote:      tcpip.FullAddress{NIC: nic, Addr: address("remote"), Port: uint16(number("remote-port"))},
		network:     ipv4.ProtocolNumber,
		prefix:      24,
		send:        number("send"),
		seed:        number("seed"),
		afterFin:    number("after-fin") != 0,
		resetAt:     number("reset-at"),
		pause:       time.Duration(number("pause-ms")) * time.Millisecond,
		window:      int(number("window")),
		limit:       time.Duration(number("limit-s")) * time.Second,
		localPortIn: uint16(number("local-port")),
	}
	if s.local.Addr.Len() == header.IPv6AddressSize {
		s.network, s.prefix = ipv6.ProtocolNumber, 64
	}
	return s, failed
}

func makeStack(s script, fd int) (*stack.Stack, error) {
	host := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
		HandleLocal:        true,
	})
	// Settings of runsc for its containers.
	sack := tcpip.TCPSACKEnabled(true)
	moderate := tcpip.TCPModerateReceiveBufferOption(s.window == 0)
	options := []tcpip.SettableTransportProtocolOption{&sack, &moderate}
	if s.window > 0 {
		options = append(options, &tcpip.TCPReceiveBufferSizeRangeOption{Min: 1, Default: s.window, Max: s.window})
	}
	for _, option := range options {
		if err := host.SetTransportProtocolOption(tcp.ProtocolNumber, option); err != nil {
			return nil, errors.New(err.String())
		}
	}
	link, failed := fdbased.New(&fdbased.Options{FDs: []int{fd}, MTU: mtu})
	if failed != nil {
		return nil, failed
	}
	if err := host.CreateNIC(nic, link); err != nil {
		return nil, errors.New(err.String())
	}
	at := tcpip.ProtocolAddress{
		Protocol:          s.network,
		AddressWithPrefix: tcpip.AddressWithPrefix{Address: s.local.Addr, PrefixLen: s.prefix},
	}
	if err := host.AddProtocolAddress(nic, at, stack.AddressProperties{}); err != nil {
		return nil, errors.New(err.String())
	}
	host.SetRouteTable([]tcpip.Route{
		{Destination: header.IPv4EmptySubnet, NIC: nic},
		{Destination: header.IPv6EmptySubnet, NIC: nic},
	})
	return host, nil
}

// open returns the connection, and its endpoint for an abort.
func open(s script, host *stack.Stack) (*gonet.TCPConn, tcpip.Endpoint, error) {
	var queue waiter.Queue
	ep, err := host.NewEndpoint(tcp.ProtocolNumber, s.network, &queue)
	if err != nil {
		return nil, nil, errors.New(err.String())
	}
	mask := waiter.EventMask(waiter.WritableEvents)
	if !s.connect {
		mask = waiter.ReadableEvents
	}
	entry, notify := waiter.NewChannelEntry(mask | waiter.EventHUp | waiter.EventErr)
	queue.EventRegister(&entry)
	defer queue.EventUnregister(&entry)
	late := time.After(s.limit)
	if s.connect {
		err := ep.Connect(s.remote)
		if _, started := err.(*tcpip.ErrConnectStarted); started {
			select {
			case <-notify:
				err = ep.LastError()
			case <-late:
				return nil, nil, os.ErrDeadlineExceeded
			}
		}
		if err != nil {
			return nil, nil, errors.New(err.String())
		}
		return gonet.NewTCPConn(&queue, ep), ep, nil
	}
	at := s.local
	at.Port = s.localPortIn
	if err := ep.Bind(at); err != nil {
		return nil, nil, errors.New(err.String())
	}
	if err := ep.Listen(backlog); err != nil {
		return nil, nil, errors.New(err.String())
	}
	sendLine("ready")
	for {
		accepted, acceptedQueue, err := ep.Accept(nil)
		if err == nil {
			return gonet.NewTCPConn(acceptedQueue, accepted), accepted, nil
		}
		if _, blocks := err.(*tcpip.ErrWouldBlock); !blocks {
			return nil, nil, errors.New(err.String())
		}
		select {
		case <-notify:
		case <-late:
			return nil, nil, os.ErrDeadlineExceeded
		}
	}
}

func closeStatus(err error) string {
	var timeout net.Error
	text := err.Error()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case strings.Contains(text, (&tcpip.ErrConnectionReset{}).String()):
		return "reset"
	case strings.Contains(text, (&tcpip.ErrConnectionRefused{}).String()):
		return "refused"
	}
	return text
}

func send(s script, conn *gonet.TCPConn, fin <-chan bool) (uint64, error) {
	if s.afterFin && !<-fin {
		return 0, errors.New("no FIN came")
	}
	bytes, sent := newPattern(s.seed), uint64(0)
	for sent < s.send {
		n, err := conn.Write(bytes.at(sent, min(s.send-sent, piece)))
		sent += uint64(n)
		if err != nil {
			return sent, err
		}
	}
	return sent, conn.CloseWrite()
}

func receive(s script, conn *gonet.TCPConn, ep tcpip.Endpoint) (uint64, uint64, error) {
	time.Sleep(s.pause)
	received, sum, buffer := uint64(0), newChecksum(), make([]byte, piece)
	for {
		most := uint64(piece)
		if s.resetAt > 0 {
			if received >= s.resetAt {
				ep.SocketOptions().SetLinger(tcpip.LingerOption{Enabled: true})
				ep.Close()
				return received, sum.value(), nil
			}
			most = min(most, s.resetAt-received)
		}
		n, err := conn.Read(buffer[:most])
		sum.update(buffer[:n])
		received += uint64(n)
		if errors.Is(err, io.EOF) && s.resetAt == 0 {
			return received, sum.value(), nil
		}
		if err != nil {
			return received, sum.value(), err
		}
	}
}

func perform(s script, host *stack.Stack) report {
	conn, ep, err := open(s, host)
	if err != nil {
		return report{Checksum: fmt.Sprintf("%016x", newChecksum().value()), Ended: closeStatus(err)}
	}
	if err := conn.SetDeadline(time.Now().Add(s.limit)); err != nil {
		return report{Ended: closeStatus(err)}
	}
	type result struct {
		sent uint64
		err  error
	}
	fin, done := make(chan bool, 1), make(chan result, 1)
	if s.resetAt > 0 {
		done <- result{}
	} else {
		go func() {
			sent, err := send(s, conn, fin)
			done <- result{sent, err}
		}()
	}
	received, sum, err := receive(s, conn, ep)
	fin <- err == nil
	out := <-done
	ended := "closed"
	if s.resetAt > 0 {
		ended = "aborted"
	}
	for _, failure := range []error{out.err, err} {
		// One of the two directions may have consumed the reset.
		if failure != nil && ended != "reset" {
			ended = closeStatus(failure)
		}
	}
	return report{out.sent, received, fmt.Sprintf("%016x", sum), ended}
}

func sendLine(line string) { fmt.Println(line) }

func fail(err error) {
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(2)
}

func main() {
	s, err := parse(os.Args[1:])
	if err != nil {
		fail(err)
	}
	fd, err := tun.Open(s.tun)
	if err != nil {
		fail(err)
	}
	sendLine("tun")
	input := bufio.NewReader(os.Stdin)
	if line, _ := input.ReadString('\n'); strings.TrimSpace(line) != "go" {
		fail(errors.New("the runner did not send `go`"))
	}
	go func() {
		_, _ = io.Copy(io.Discard, input)
		os.Exit(0)
	}()
	host, err := makeStack(s, fd)
	if err != nil {
		fail(err)
	}
	text, err := json.Marshal(perform(s, host))
	if err != nil {
		fail(err)
	}
	sendLine(string(text))
	// The stack keeps running until standard input ends.
	select {}
}
