package server

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Listen opens a TCP address. The error is a sentence that says what to do.
func Listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is in use by another program. "+
			"Stop it, or choose another address with -listen", address)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("this user may not listen on %s. "+
			"Ports below 1024 need special rights; choose another with -listen", address)
	case errors.Is(err, syscall.EADDRNOTAVAIL), isUnknownName(err):
		return nil, fmt.Errorf("%s is no address of this machine. "+
			"Choose one with -listen, such as 127.0.0.1:8420, or :8420 for all that it has", address)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w. Choose another address with -listen", address, err)
	}
	return l, nil
}

func isUnknownName(err error) bool {
	_, ok := errors.AsType[*net.DNSError](err)
	return ok
}
