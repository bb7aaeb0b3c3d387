package test

import (
	"os"
	"path"
	"path/filepath"
	"slices"
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

// Promise: Compose files mount files that are there, and set settings that exist to values that are right.
func TestComposeFilesFitTheProgram(t *testing.T) {
	t.Parallel()
	const dir = "../configs/compose"
	files, err := filepath.Glob(dir + "/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 4)
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
			if !strings.HasPrefix(name, "reprise") {
				continue
			}
			if s.Image != "" {
				require.Equal(t, "reprise:"+number, s.Image, file)
			}
			var environ []string
			for name, value := range s.Environment {
				for _, asked := range []string{"POSTGRES_PASSWORD", "ADMIN_TOKEN", "SECRET_KEY"} {
					value = strings.ReplaceAll(value, "${"+asked+":?is missing in .env}",
						strings.Repeat("0123456789abcdef", 4))
				}
				environ = append(environ, name+"="+value)
			}
			_, err := config.Load("", environ, nil, registry.Descriptions())
			require.NoError(t, err, file)
		}
	}
}

// Promise: The Kubernetes manifest sets settings that exist to values that are right.
func TestTheKubernetesManifestFitsTheProgram(t *testing.T) {
	t.Parallel()
	var deployment struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct {
						Image string
						Env   []struct {
							Name, Value string
							ValueFrom   struct {
								SecretKeyRef struct{ Key string } `yaml:"secretKeyRef"`
							} `yaml:"valueFrom"`
						}
					}
				}
			}
		}
	}
	text, err := os.ReadFile("../configs/kubernetes/reprise.yaml")
	require.NoError(t, err)
	parts := strings.Split(string(text), "\n---\n")
	require.Len(t, parts, 2)
	require.NoError(t, yaml.Unmarshal([]byte(parts[1]), &deployment))
	secrets := map[string]string{"database-url": "postgres://reprise:password@db:5432/reprise",
		"secret-key": strings.Repeat("0123456789abcdef", 4)}
	c := deployment.Spec.Template.Spec.Containers[0]
	var alone composed
	readYAML(t, "compose/compose.yaml", &alone)
	require.Equal(t, alone.Services["reprise"].Image, c.Image)
	var environ []string
	for _, e := range c.Env {
		if strings.HasPrefix(e.Name, "REPRISE_") {
			value := e.Value + secrets[e.ValueFrom.SecretKeyRef.Key]
			environ = append(environ, e.Name+"="+value)
		}
	}
	require.Len(t, environ, 5)
	_, err = config.Load("", environ, nil, registry.Descriptions())
	require.NoError(t, err)
}

// Promise: Prometheus finds its token and its alerts, and Grafana finds Prometheus and the dashboard, where Compose
// mounts them.
func TestComposeConnectsTheMonitoring(t *testing.T) {
	t.Parallel()
	var c composed
	readYAML(t, "compose/compose.monitoring.yaml", &c)
	grafana, prometheus := c.Services["grafana"], c.Services["prometheus"]
	mounted := map[string]string{} // by what is mounted
	for _, v := range slices.Concat(grafana.Volumes, prometheus.Volumes) {
		parts := strings.Split(v, ":")
		mounted[parts[0]] = parts[1]
	}
	const provisioning = "/etc/grafana/provisioning/"
	require.Equal(t, provisioning+"datasources", path.Dir(mounted["./grafana/datasources.yaml"]))
	require.Equal(t, provisioning+"dashboards", path.Dir(mounted["./grafana/dashboards.yaml"]))
	board := mounted["../grafana/reprise.json"]
	require.Equal(t, board, grafana.Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])

	var boards struct {
		Providers []struct{ Options struct{ Path string } }
	}
	readYAML(t, "compose/grafana/dashboards.yaml", &boards)
	require.Equal(t, path.Dir(board), boards.Providers[0].Options.Path)
	var sources struct {
		Datasources []struct {
			Type, URL string
			IsDefault bool `yaml:"isDefault"`
		}
	}
	readYAML(t, "compose/grafana/datasources.yaml", &sources)
	require.Len(t, sources.Datasources, 1)
	source := sources.Datasources[0]
	require.True(t, source.IsDefault, "the dashboard begins with the default")
	require.Equal(t, "prometheus", source.Type, "which the dashboard asks for")
	require.Equal(t, "http://prometheus:9090", source.URL)

	var scraping struct {
		RuleFiles     []string `yaml:"rule_files"`
		ScrapeConfigs []struct {
			StaticConfigs []struct{ Targets []string } `yaml:"static_configs"`
			Authorization struct {
				CredentialsFile string `yaml:"credentials_file"`
			}
		} `yaml:"scrape_configs"`
	}
	readYAML(t, "compose/prometheus.yml", &scraping)
	require.Equal(t, path.Base(mounted["../prometheus/alerts.yaml"]), scraping.RuleFiles[0])
	require.Equal(t, path.Dir(mounted["./prometheus.yml"]), path.Dir(mounted["../prometheus/alerts.yaml"]))
	job := scraping.ScrapeConfigs[0]
	require.Equal(t, []string{"reprise:8420"}, job.StaticConfigs[0].Targets)
	require.Equal(t, "/run/secrets/"+prometheus.Secrets[0], job.Authorization.CredentialsFile)
}

func readYAML(t *testing.T, name string, v any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../configs", name))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, v), name)
}

// Promise: Every step of the workflow runs a script or a target of make that exists.
func TestTheWorkflowRunsWhatExists(t *testing.T) {
	t.Parallel()
	var workflow struct {
		Jobs map[string]struct{ Steps []struct{ Run string } }
	}
	readYAML(t, "../.github/workflows/check.yml", &workflow)
	makefile, err := os.ReadFile("../Makefile")
	require.NoError(t, err)
	var ran []string
	for _, job := range workflow.Jobs {
		for _, step := range job.Steps {
			words := strings.Fields(step.Run)
			if len(words) == 0 || words[0] == "git" {
				continue
			}
			ran = append(ran, step.Run)
			if words[0] == "make" {
				require.Contains(t, string(makefile), "\n"+words[1]+":")
				continue
			}
			info, err := os.Stat(filepath.Join("..", words[0]))
			require.NoError(t, err)
			require.NotZero(t, info.Mode()&0o100, "%s can be run", words[0])
		}
	}
	require.ElementsMatch(t, []string{".ci/run", "make dist"}, ran)
}

// Promise: The settings that packages install are settings.
func TestPackagedSettingsAreRight(t *testing.T) {
	t.Parallel()
	c, err := config.Load("../configs/packaging/reprise.yaml", nil, nil, registry.Descriptions())
	require.NoError(t, err)
	require.Equal(t, "/var/lib/reprise", c.DataDir)
	unit, err := os.ReadFile("../configs/packaging/reprise.service")
	require.NoError(t, err)
	require.Contains(t, string(unit), "\nStateDirectory="+filepath.Base(c.DataDir)+"\n")
}
