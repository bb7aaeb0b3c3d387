package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is the number that programs of images from scratch commonly run as.
const user = 65532

// images writes one image file per architecture, and one with all of them.
func images(dir, version string, built []string, at time.Time) error {
	all := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, one := range built {
		arch, files, _ := strings.Cut(one, "=")
		img, err := image(files, version, arch, at)
		if err != nil {
			return err
		}
		platform := &v1.Platform{OS: "linux", Architecture: arch}
		all = mutate.AppendManifests(all, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: platform}})
		file := filepath.Join(dir, fmt.Sprintf("reprise-%s-image-%s.tar", version, arch))
		err = saved(file, at, func(to layout.Path) error {
			if err := to.AppendImage(img, named(version), layout.WithPlatform(*platform)); err != nil {
				return err
			}
			return forDocker(string(to), img, version)
		})
		if err != nil {
			return err
		}
	}
	return saved(filepath.Join(dir, fmt.Sprintf("reprise-%s-image.tar", version)), at, func(to layout.Path) error {
		return to.AppendIndex(all, named(version))
	})
}

// named has podman and containerd call the image reprise.
func named(version string) layout.Option {
	return layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": version,
		"io.containerd.image.name": "docker.io/library/reprise:" + version})
}

// saved writes what fill puts into an OCI layout to a tar file.
func saved(file string, at time.Time, fill func(layout.Path) error) error {
	dir, err := os.MkdirTemp(filepath.Dir(file), "image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	to, err := layout.Write(dir, mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err == nil {
		err = fill(to)
	}
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	all := tar.NewWriter(&packed)
	if err := tarred(all, dir, ".", at); err != nil {
		return err
	}
	if err := all.Close(); err != nil {
		return err
	}
	return os.WriteFile(file, packed.Bytes(), 0o644)
}

// forDocker adds to an OCI layout what "docker load" looks for where Docker keeps its images in its own format.
func forDocker(dir string, img v1.Image, version string) error {
	m, err := img.Manifest()
	if err != nil {
		return err
	}
	blob := func(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }
	var layers []string
	for _, l := range m.Layers {
		layers = append(layers, blob(l.Digest))
	}
	text, err := json.Marshal([]map[string]any{{"Config": blob(m.Config.Digest), "Layers": layers,
		"RepoTags": []string{"reprise:" + version}}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "manifest.json"), text, 0o644)
}

// image makes the image of one architecture.
func image(files, version, arch string, at time.Time) (v1.Image, error) {
	content, err := filesystem(files, at)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	layer, err := tarball.LayerFromOpener(open,
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression))
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: at},
		CreatedBy: "make dist"}})
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: at}
	config.Config = v1.Config{
		User:         fmt.Sprintf("%d:%d", user, user),
		Env:          []string{"PATH=/", "REPRISE_LISTEN=:8420", "REPRISE_DATA_DIR=/data"},
		Entrypoint:   []string{"/reprise"},
		ExposedPorts: map[string]struct{}{"8420/tcp": {}},
		Volumes:      map[string]struct{}{"/data": {}},
		WorkingDir:   "/data",
		StopSignal:   "SIGTERM",
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "/reprise", "-health"}, Interval: 30 * time.Second,
			Timeout: 10 * time.Second, StartPeriod: time.Minute, Retries: 3},
		Labels: map[string]string{"org.opencontainers.image.title": "Reprise",
			"org.opencontainers.image.description": "Keeps a complete, live copy of your listening history",
			"org.opencontainers.image.version":     version, "org.opencontainers.image.licenses": "MIT"},
	}
	return mutate.ConfigFile(img, config)
}

// filesystem returns the one layer as a tar file: the program, the certificates of the web, and nothing to run beside.
func filesystem(files string, at time.Time) ([]byte, error) {
	var packed bytes.Buffer
	to := tar.NewWriter(&packed)
	name := fmt.Sprintf("reprise:x:%d:", user)
	texts := map[string][]byte{"etc/passwd": fmt.Appendf(nil, "%s%d::/data:/reprise\n", name, user),
		"etc/group": []byte(name + "\n"), "etc/ssl/certs/ca-certificates.crt": certificates()}
	for _, file := range []string{"reprise", "LICENSE.txt", "THIRD-PARTY.txt"} {
		text, err := os.ReadFile(filepath.Join(files, file))
		if err != nil {
			return nil, err
		}
		texts[file] = text
	}
	for _, h := range []*tar.Header{
		{Name: "LICENSE.txt", Mode: 0o644}, {Name: "THIRD-PARTY.txt", Mode: 0o644},
		{Name: "data/", Mode: 0o700, Uid: user, Gid: user},
		{Name: "etc/", Mode: 0o755}, {Name: "etc/group", Mode: 0o644}, {Name: "etc/passwd", Mode: 0o644},
		{Name: "etc/ssl/", Mode: 0o755}, {Name: "etc/ssl/certs/", Mode: 0o755},
		{Name: "etc/ssl/certs/ca-certificates.crt", Mode: 0o644},
		{Name: "reprise", Mode: 0o755}, {Name: "tmp/", Mode: 0o1777},
	} {
		h.ModTime, h.Typeflag = at, tar.TypeReg
		if strings.HasSuffix(h.Name, "/") {
			h.Typeflag = tar.TypeDir
		}
		text := texts[h.Name]
		h.Size = int64(len(text))
		if err := to.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := to.Write(text); err != nil {
			return nil, err
		}
	}
	err := to.Close()
	return packed.Bytes(), err
}

// certificates returns Mozilla's list of authorities, without those that it trusts with a condition, which the file
// cannot express.
func certificates() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes everything
		}
	}
	return all.Bytes()
}
