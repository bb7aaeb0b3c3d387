package config

import (
	"strings"

	"github.com/minio/minio-go/v7/pkg/s3utils"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// Backup says when the database is copied by itself, and where copies are kept.
type Backup struct {
	Daily  bool
	Keep   int    // how many copies; at least 1
	Folder string // empty: one in DataDir
	Bucket Bucket // instead of Folder, if it has an Address
}

// Bucket is a folder in S3-compatible storage.
type Bucket struct {
	Address   string // https://host or http://host, without a path
	Name      string // bucket, or bucket/folder
	AccessKey string
	SecretKey resilience.Secret
}

// incomplete reports whether some of the fields are empty, and others are not.
func (b Bucket) incomplete() bool {
	return b != (Bucket{}) && (b.Address == "" || b.Name == "" || b.AccessKey == "" || b.SecretKey == "")
}

func (c *Config) ofBackup() []row {
	b := &c.Backup
	return []row{
		{Setting{Path: "backup.daily", Default: "false", Group: Backups, Kind: Boolean}, boolean(&b.Daily)},
		counting("backup.keep", "7", Backups, &b.Keep, 1, 1000),
		{Setting{Path: "backup.folder", Group: Backups, Kind: Text}, plainText(&b.Folder)},
		{Setting{Path: "backup.s3.address", Group: Backups, Kind: URL}, addressOf(providers.PageURL,
			&b.Bucket.Address)},
		{Setting{Path: "backup.s3.bucket", Group: Backups, Kind: Text}, bucketName(&b.Bucket.Name)},
		{Setting{Path: "backup.s3.access_key", Group: Backups, Kind: Text}, plainText(&b.Bucket.AccessKey)},
		{Setting{Path: "backup.s3.secret_key", Group: Backups, Kind: Secret}, func(s string) error {
			b.Bucket.SecretKey = resilience.Secret(strings.TrimSpace(s))
			return nil
		}},
	}
}

// bucketName returns a setter for the name of a bucket, with or without a folder behind it.
func bucketName(to *string) func(string) error {
	return func(s string) error {
		s = strings.Trim(strings.TrimSpace(s), "/")
		name, _, _ := strings.Cut(s, "/")
		if s != "" && s3utils.CheckValidBucketName(name) != nil {
			return words.Errorf("settings.wrong.bucket", "Value", name)
		}
		*to = s
		return nil
	}
}
