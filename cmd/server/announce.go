package main

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"

	"reprise/internal/config"
	"reprise/internal/providers"
	"reprise/internal/providers/registry"
	"reprise/internal/server/edge"
)

// reach is how browsers reach the server.
type reach struct {
	links  []string // the most useful first, the last one for browsers on this machine
	within bool     // a container that knows no address of its machine
}

// reachOf returns how browsers reach a server with this listen address. here is the link for those on this machine.
func reachOf(listen net.Addr, here string, machine edge.Machine) reach {
	at, ok := listen.(*net.TCPAddr)
	if !ok || !at.IP.IsUnspecified() {
		return reach{links: []string{here}}
	}
	_, port, _ := net.SplitHostPort(listen.String())
	links := machine.Links(port)
	return reach{links: append(links, here), within: machine.Contained && len(links) == 0}
}

// announce logs the addresses of the page, and prints the links to it, with the code for the first account if there is
// none yet. The code is a secret, so it is not in the log.
func announce(c config.Config, to reach, setupCode string, log *slog.Logger, stdout io.Writer) {
	if c.Contact == "" {
		names := strings.Join(providers.WantContact(registry.Descriptions()), " and ")
		log.Warn("the setting contact is empty; " + names + " are not called without it")
	}
	log.Info("serving", "url", to.links[0], "links", to.links, "version", version)
	rest, what := "", "Reprise is ready:"
	if setupCode != "" {
		rest, what = "/setup?code="+setupCode, "Reprise is ready. Create the first account here:"
	}
	fmt.Fprintf(stdout, "\n%s\n\n", what)
	for i, link := range to.links {
		note := ""
		if i > 0 && i == len(to.links)-1 {
			note = "  (on this machine)"
		}
		fmt.Fprintf(stdout, "  %s%s%s\n", link, rest, note)
	}
	fmt.Fprintln(stdout)
	if c.Simulated != nil {
		fmt.Fprint(stdout, "This is the demo. It calls nothing but its simulated services, keeps nothing, and "+
			"signs in everybody\nwho opens the link.\n\n")
	}
	if to.within {
		fmt.Fprint(stdout, "From elsewhere, replace the address in the link with that of the machine that runs this "+
			"container,\nand the port with the one that it publishes.\n\n")
	}
}
