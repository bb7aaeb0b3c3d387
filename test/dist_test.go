package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"reprise/internal/config"
	"reprise/internal/providers/registry"
)

// composed are the parts of a Compose file that have to fit the program.
type composed struct {
	Services map[string]struct {
		Image       string
		Volumes     []string
		Environment map[string]string
		Secrets     []string
	}
	Secrets, Volumes map[string]any
}

// Compose files mount files that are there, and set settings that exist to values that are right.
func TestComposeFilesFitTheProgram(t *testing.T) {
	t.Parallel()
	const dir = "../configs/compose"
	files, err := filepath.Glob(dir + "/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 3)
	version, err := command(t, "", nil, "-version")
	require.NoError(t, err)
	number, _, _ := strings.Cut(strings.TrimPrefix(version, "reprise "), "-")
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var c composed
		require.NoError(t, yaml.Unmarshal(text, &c), file)
		for name, s := range c.Services {
			for _, v := range s.Volumes {
				from, _, _ := strings.Cut(v, ":")
				if strings.HasPrefix(from, ".") {
					require.FileExists(t, filepath.Join(dir, from), file)
				} else {
					require.Contains(t, c.Volumes, from, file)
				}
			}
			for _, secret := range s.Secrets {
				require.Contains(t, c.Secrets, secret, file)
			}
			if name != "reprise" {
				continue
			}
			if s.Image != "" {
				require.Equal(t, "reprise:"+number, s.Image, file)
			}
			var environ []string
			for name, value := range s.Environment {
				for _, asked := range []string{"POSTGRES_PASSWORD", "ADMIN_TOKEN"} {
					value = strings.ReplaceAll(value, "${"+asked+":?is missing in .env}", "0123456789abcdef")
				}
				environ = append(environ, name+"="+value)
			}
			_, err := config.Load("", environ, nil, registry.Descriptions())
			require.NoError(t, err, file)
		}
	}
}

// The settings that packages install are settings.
func TestPackagedSettingsAreRight(t *testing.T) {
	t.Parallel()
	c, err := config.Load("../configs/packaging/reprise.yaml", nil, nil, registry.Descriptions())
	require.NoError(t, err)
	require.Equal(t, "/var/lib/reprise", c.DataDir)
	unit, err := os.ReadFile("../configs/packaging/reprise.service")
	require.NoError(t, err)
	require.Contains(t, string(unit), "\nStateDirectory="+filepath.Base(c.DataDir)+"\n")
}
