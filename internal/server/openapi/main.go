// Command openapi writes the description of the API, as the types of its calls make it, for those who read it without a
// server. `go generate ./web` runs it.
package main

import (
	"fmt"
	"log/slog"
	"os"

	"reprise/internal/providers"
	"reprise/internal/providers/registry"
	"reprise/internal/server"
)

func main() {
	if err := write("openapi.yaml"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write writes the description into a file.
func write(file string) error {
	all := providers.NewRegistry()
	for _, d := range registry.Descriptions() {
		if !d.Connects() {
			continue
		}
		all.Replace(&providers.Provider{Description: d})
	}
	s, err := server.New(server.Config{Reach: server.Reach{BaseURL: "http://127.0.0.1:8420"}, Registry: all,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	text, err := s.Description()
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}
