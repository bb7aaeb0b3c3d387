package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// archive packs a directory under its own name. Everything in it belongs to root and is as old as the commit.
func archive(file, dir string, at time.Time) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if strings.HasSuffix(file, ".zip") {
		return zipped(out, dir, at)
	}
	packed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	all := tar.NewWriter(packed)
	err = tarred(all, dir, filepath.Base(dir), at)
	return errors.Join(err, all.Close(), packed.Close())
}

// tarred adds a directory to a tar file, under another name, sorted.
func tarred(to *tar.Writer, dir, as string, at time.Time) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		name := filepath.ToSlash(filepath.Join(as, rel))
		if err != nil || name == "." {
			return err
		}
		h := &tar.Header{Name: name, Mode: int64(mode(info)), ModTime: at, Typeflag: tar.TypeReg, Size: info.Size()}
		if d.IsDir() {
			h.Name, h.Typeflag, h.Size = name+"/", tar.TypeDir, 0
		}
		if err := to.WriteHeader(h); err != nil || d.IsDir() {
			return err
		}
		return copyFile(to, path)
	})
}

func zipped(out io.Writer, dir string, at time.Time) error {
	all := zip.NewWriter(out)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(filepath.Dir(dir), path)
		if err != nil {
			return err
		}
		h := &zip.FileHeader{Name: filepath.ToSlash(rel), Method: zip.Deflate, Modified: at}
		h.SetMode(mode(info))
		w, err := all.CreateHeader(h)
		if err != nil {
			return err
		}
		return copyFile(w, path)
	})
	return errors.Join(err, all.Close())
}

// mode leaves out what the umask of the builder decides.
func mode(info fs.FileInfo) fs.FileMode {
	if info.IsDir() || info.Mode()&0o100 != 0 {
		return 0o755
	}
	return 0o644
}

func copyFile(to io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, f)
	return errors.Join(err, f.Close())
}
