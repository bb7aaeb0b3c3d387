package childtest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Systems give programs that ask for any port one above these (Linux from 32,768 on, macOS and Windows from 49,152 on).
// So nobody takes one of these by chance between the moment when it is chosen and that when a program listens there.
const firstPort, ports = 20_000, 12_000

// Address returns an address of this machine, such as "127.0.0.1:23456", at which nothing listens, for a program that
// has to be told where to listen. Until the test ends, no other call returns it, also of another process.
func Address(t testing.TB) string {
	t.Helper()
	for range 1000 {
		at := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+rand.IntN(ports)))
		claim, err := net.ListenPacket("udp", at) // what other calls find taken; programs listen by TCP
		if err != nil {
			continue
		}
		if free, err := net.Listen("tcp", at); err == nil {
			_ = free.Close()
			t.Cleanup(func() { _ = claim.Close() })
			return at
		}
		_ = claim.Close()
	}
	t.Fatal("no port is free")
	return ""
}
