package core

import (
	"github.com/danielgtaylor/huma/v2"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/ledger"
	"reprise/internal/players"
	"reprise/internal/playrules"
	"reprise/internal/recipes"
	syncer "reprise/internal/sync"
)

// enums are the sets of values that several calls share, by the name that stands in the tag `enum` of their fields, and
// that they have in the description. The order is that of the description.
var enums = map[string][]any{
	"Role":            {accounts.Admin, accounts.Member},
	"Scope":           Enum(accounts.Read, accounts.Operate, accounts.Full),
	"ConnectionState": Enum(syncer.Conditions...),
	"Category": {
		"auth", "permission", "config", "rate_limit", "quota", "upstream", "network", "contract", "item",
		"circuit_open", "unknown",
	},
	"DeliveryState": Enum(delivery.States...),
	"RecipeKind":    Enum(recipes.Kinds...),
	"PlayRuleKind":  Enum(playrules.Kinds...),
	"MonthState":    Enum(ledger.States...),
	"DeliveryKind":  Enum(delivery.Kinds...),
	"PlayerKind":    Enum(players.Kinds...),
	"KeyState":      {"ready", "cooling", "refused"},
	"BreakerState":  {"closed", "open", "half-open"},
}

// Enum returns values as huma takes them.
func Enum[T ~string](values ...T) (all []any) {
	for _, v := range values {
		all = append(all, string(v))
	}
	return all
}

// shareEnum has a schema refer to the set of values that its tag names.
func shareEnum(all map[string]*huma.Schema, s *huma.Schema) {
	if len(s.Enum) != 1 {
		return
	}
	name, _ := s.Enum[0].(string)
	values, ok := enums[name]
	if !ok {
		return
	}
	if all[name] == nil {
		all[name] = &huma.Schema{Type: huma.TypeString, Enum: values}
		all[name].PrecomputeMessages()
	}
	ref := &huma.Schema{Ref: schemaPrefix + name}
	if s.Nullable {
		*s = huma.Schema{OneOf: []*huma.Schema{ref, {Type: "null"}}, Description: s.Description}
		return
	}
	*s = huma.Schema{Ref: ref.Ref, Description: s.Description}
}
