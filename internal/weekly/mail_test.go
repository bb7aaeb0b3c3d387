package weekly_test

import (
	"encoding/base64"
	"io"
	"mime/quotedprintable"
	"testing"

	"github.com/stretchr/testify/require"
)

// decoded returns the text of a part, with the line ends of Go.
func decoded(t *testing.T, encoding string, body io.Reader) string {
	t.Helper()
	switch encoding {
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	}
	b, err := io.ReadAll(body)
	require.NoError(t, err)
	return lines.Replace(string(b))
}
