package resilience

import (
	"encoding/json"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a text that no log, error or page may show. It prints as "[redacted]"; string(s) is the secret itself.
type Secret string

func (Secret) String() string               { return redacted }
func (Secret) GoString() string             { return redacted }
func (Secret) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (Secret) MarshalJSON() ([]byte, error) { return json.Marshal(redacted) }
