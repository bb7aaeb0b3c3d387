package core

import (
	"reprise/internal/bounded"
)

// bodyLimits bounds the JSON that a call carries. The longest list in any call is one of notifications to acknowledge.
var bodyLimits = bounded.Limits{
	Depth: 8, Elements: 2000, Fields: 200, String: 64 << 10, InAll: 2000, Values: 4000,
}
