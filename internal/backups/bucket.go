package backups

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"reprise/internal/config"
)

// bucket keeps copies in S3-compatible storage.
type bucket struct {
	of  config.Bucket
	opt Options
}

func (b bucket) String() string { return b.of.Address + "/" + b.of.Name }

// open returns a client of the storage, the bucket, and what the names of objects begin with: empty, or a folder that
// ends with a slash.
func (b bucket) open() (c *minio.Client, name, prefix string, err error) {
	u, err := url.Parse(b.of.Address)
	if err != nil {
		return nil, "", "", err
	}
	name, prefix, _ = strings.Cut(b.of.Name, "/")
	if prefix != "" {
		prefix += "/"
	}
	c, err = minio.New(u.Host, &minio.Options{Secure: u.Scheme == "https", Transport: b.opt.Client.Transport,
		MaxRetries: 3, // a look that fails is repeated in ten minutes
		Creds:      credentials.NewStaticV4(b.of.AccessKey, string(b.of.SecretKey), "")})
	return c, name, prefix, err
}

func (b bucket) List(ctx context.Context) (all []Copy, _ error) {
	c, name, prefix, err := b.open()
	if err != nil {
		return nil, err
	}
	for o := range c.ListObjects(ctx, name, minio.ListObjectsOptions{Prefix: prefix + "reprise-"}) {
		if o.Err != nil {
			return nil, b.explain(o.Err)
		}
		if found, ok := copyOf(ctx, b.opt.Dir, strings.TrimPrefix(o.Key, prefix), o.Size); ok {
			all = append(all, found)
		}
	}
	return all, nil
}

// Keep makes the copy beside the database, and sends it from there.
func (b bucket) Keep(ctx context.Context, name string) (err error) {
	c, in, prefix, err := b.open()
	if err != nil {
		return err
	}
	beside := folder{filepath.Join(b.opt.Dir.Path, "sending"), b.opt.Dir}
	if err := os.RemoveAll(beside.path); err != nil { // what a killed process has left
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(beside.path)) }()
	if err := beside.Keep(ctx, name); err != nil {
		return err
	}
	_, err = c.FPutObject(ctx, in, prefix+name, filepath.Join(beside.path, name),
		minio.PutObjectOptions{ContentType: "application/vnd.sqlite3"})
	return b.explain(err)
}

func (b bucket) Open(ctx context.Context, name string) (io.ReadCloser, Copy, error) {
	found, ok := copyOf(ctx, b.opt.Dir, name, 0)
	if !ok {
		return nil, found, fs.ErrNotExist
	}
	c, in, prefix, err := b.open()
	if err != nil {
		return nil, found, err
	}
	o, err := c.GetObject(ctx, in, prefix+name, minio.GetObjectOptions{})
	if err != nil {
		return nil, found, b.explain(err)
	}
	info, err := o.Stat()
	if err != nil {
		return nil, found, errors.Join(b.explain(err), o.Close())
	}
	found.Bytes = info.Size
	return o, found, nil
}

func (b bucket) Fetch(ctx context.Context, name string) (string, func() error, error) {
	c, in, prefix, err := b.open()
	if err != nil {
		return "", nil, err
	}
	file := filepath.Join(b.opt.Dir.Path, "fetched.db")
	done := func() error { return os.Remove(file) }
	if err := c.FGetObject(ctx, in, prefix+name, file, minio.GetObjectOptions{}); err != nil {
		_ = done() // which may have nothing to remove
		return "", nil, b.explain(err)
	}
	return file, done, nil
}

func (b bucket) Remove(ctx context.Context, name string) error {
	c, in, prefix, err := b.open()
	if err != nil {
		return err
	}
	return b.explain(c.RemoveObject(ctx, in, prefix+name, minio.RemoveObjectOptions{}))
}

// explain names the storage in an error, and keeps that nothing was found. It has no secret: the library signs with
// them, and repeats none.
func (b bucket) explain(err error) error {
	if err == nil {
		return nil
	}
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		err = errors.Join(fs.ErrNotExist, err)
	}
	return fmt.Errorf("the storage %s: %w", b, err)
}
