package cli

import (
	"fmt"
	"io"
)

// Ready is what people read when the server serves.
type Ready struct {
	Links     []string // the most useful first, the last one for browsers on this machine
	Within    bool     // a container that knows no address of its machine
	SetupCode string   // for the first account; empty if there is one
	Demo      bool
}

// Print prints the links to the page.
func (r Ready) Print(out io.Writer) {
	rest, what := "", "Reprise is ready:"
	if r.SetupCode != "" {
		rest, what = "/setup?code="+r.SetupCode, "Reprise is ready. Create the first account here:"
	}
	fmt.Fprintf(out, "\n%s\n\n", what)
	for i, link := range r.Links {
		note := ""
		if i > 0 && i == len(r.Links)-1 {
			note = "  (on this machine)"
		}
		fmt.Fprintf(out, "  %s%s%s\n", link, rest, note)
	}
	fmt.Fprintln(out)
	if r.Demo {
		fmt.Fprint(out, "This is the demo. It calls nothing but its simulated services, keeps nothing, and "+
			"signs in everybody\nwho opens the link.\n\n")
	}
	if r.Within {
		fmt.Fprint(out, "From elsewhere, replace the address in the link with that of the machine that runs this "+
			"container,\nand the port with the one that it publishes.\n\n")
	}
}
