package supysonictest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Song is a file of a server's music.
type Song struct {
	Title, Artist, Album string
	Length               time.Duration // as the file's header tells it
}

func makeSongs(ctx context.Context, t testing.TB, music string, songs []Song) {
	t.Helper()
	first := filepath.Join(music, "0.flac")
	out, err := exec.CommandContext(ctx, "ffmpeg", "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i",
		"anullsrc=r=8000:cl=mono:d=1", first).CombinedOutput()
	if err != nil {
		t.Fatalf("ffmpeg: %v: %s", err, out)
	}
	silence, err := os.ReadFile(first)
	if err == nil {
		err = os.Remove(first)
	}
	for i, s := range songs {
		var file []byte
		if err == nil {
			file, err = s.file(silence, i+1)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(music, fmt.Sprintf("%04d.flac", i+1)), file, 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The layout of a FLAC file (RFC 9639): the marker, blocks of metadata with a head of 4 bytes each, and the frames.
const (
	flacHead    = 4 + 4 + 34 // marker, and the block that tells about the stream
	flacSamples = 4 + 4 + 10 // where that block has the rate (20 bits), channels and depth (8), and samples (36)
	lastBlock   = 0x80
	comments    = 4 // the type of the block with the names
)

// file returns a FLAC file of the song, the n-th of its album, made from another one.
func (s Song) file(silence []byte, n int) ([]byte, error) {
	frames := 4
	for last := false; !last; {
		if frames+4 > len(silence) {
			return nil, errors.New("not a FLAC file")
		}
		last = silence[frames]&lastBlock != 0
		frames += 4 + int(binary.BigEndian.Uint32(silence[frames:])&0xffffff)
	}
	f := append([]byte{}, silence[:flacHead]...)
	f[4] &^= lastBlock
	about := binary.BigEndian.Uint64(f[flacSamples:])
	rate := about >> 44
	binary.BigEndian.PutUint64(f[flacSamples:], about&^(1<<36-1)|rate*uint64(s.Length/time.Second))
	names := binary.LittleEndian.AppendUint32(nil, 0) // no vendor
	fields := []string{"TITLE=" + s.Title, "ARTIST=" + s.Artist, "ALBUM=" + s.Album,
		fmt.Sprint("TRACKNUMBER=", n)}
	names = binary.LittleEndian.AppendUint32(names, uint32(len(fields)))
	for _, field := range fields {
		names = append(binary.LittleEndian.AppendUint32(names, uint32(len(field))), field...)
	}
	f = binary.BigEndian.AppendUint32(f, (lastBlock|comments)<<24|uint32(len(names)))
	return append(append(f, names...), silence[frames:]...), nil
}
