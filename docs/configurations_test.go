package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// checker has a program check a configuration of the documents, in a folder of its own.
type checker struct {
	whole  string // what a configuration has that is no fragment; test.TestProxies runs the fragments within it
	change *strings.Replacer
	check  func(dir, file string) *exec.Cmd
}

// proxied matches the configuration of a proxy.
var proxied = regexp.MustCompile(`(?m)^(frontend|backend) \w+$|^server \{`)

var certificate = regexp.MustCompile(`(?m)^\s*ssl_.*$`)

var checkers = map[string]checker{
	"haproxy": {"frontend ", strings.NewReplacer(" ssl crt /etc/haproxy/music.pem", ""),
		func(_, file string) *exec.Cmd { return exec.Command("/usr/sbin/haproxy", "-c", "-dW", "-f", file) }},
	"nginx": {"server {", strings.NewReplacer("listen 443 ssl;", "listen 443;"),
		func(dir, file string) *exec.Cmd {
			return exec.Command("/usr/sbin/nginx", "-t", "-p", dir, "-e", "stderr", "-c", file)
		}},
	"caddyfile": {"example.org {", strings.NewReplacer(),
		func(dir, file string) *exec.Cmd {
			c := exec.Command("caddy", "validate", "--adapter", "caddyfile", "--config", file)
			c.Env = []string{"HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "XDG_DATA_HOME=" + dir}
			return c
		}},
}

// Each program takes its configurations in the documents, without a warning.
func TestProgramsTakeTheirConfigurations(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	checked := map[string]int{}
	for _, page := range pages {
		for _, m := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```").FindAllStringSubmatch(read(t, page), -1) {
			kind, text := m[1], m[2]
			c, ok := checkers[kind]
			require.True(t, ok || !proxied.MatchString(text), "%s has a configuration of no named program", page)
			if !ok || !strings.Contains(text, c.whole) {
				continue
			}
			checked[kind]++
			if kind == "haproxy" { // else all people share the proxy's address
				require.Contains(t, text, "mode http", page)
				require.Contains(t, text, "option forwardfor", page)
			}
			text = certificate.ReplaceAllString(c.change.Replace(text), "")
			if kind == "nginx" {
				text = "pid nginx.pid;\nevents {}\nhttp {\n" + text + "}\n"
			}
			dir := t.TempDir()
			file := filepath.Join(dir, "configuration")
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			out, err := c.check(dir, file).CombinedOutput()
			require.NoError(t, err, "%s: %s", page, out)
		}
	}
	for kind := range checkers {
		require.NotZero(t, checked[kind], kind)
	}
	require.Greater(t, checked["haproxy"], 1)
}

func TestHAProxyTakesTheConfigurationForCompose(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("/usr/sbin/haproxy", "-c", "-dW", "-f", "../configs/compose/haproxy.cfg").CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// systemd takes the unit of the packages; what it starts is installed by them.
func TestSystemdTakesTheUnit(t *testing.T) {
	t.Parallel()
	unit := regexp.MustCompile(`(?m)^(ExecStart\w*=)\S+`).ReplaceAllString(
		read(t, "..", "configs", "packaging", "reprise.service"), "${1}/bin/true")
	file := filepath.Join(t.TempDir(), "reprise.service")
	require.NoError(t, os.WriteFile(file, []byte(unit), 0o600))
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
