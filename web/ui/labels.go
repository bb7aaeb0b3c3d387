package ui

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"reprise/internal/words"
)

// bellLabel returns what the bell is called: how many notifications are open.
func bellLabel(ctx context.Context, b Bell) string {
	if b.Open == 0 {
		return words.T(ctx, "frame.notifications")
	}
	return words.T(ctx, "frame.open", "Count", b.Open)
}

func fieldID(f Field) string { return cmp.Or(f.ID, f.Name) }

func fieldType(f Field) string { return cmp.Or(f.Type, "text") }

// describedBy ties a field to its problem and its help, for screen readers.
func describedBy(f Field) templ.Attributes {
	var by []string
	if f.Wrong != "" {
		by = append(by, f.Wrong)
	}
	if f.Problem != "" {
		by = append(by, fieldID(f)+"-problem")
	}
	if f.Help != "" {
		by = append(by, fieldID(f)+"-help")
	}
	if len(by) == 0 {
		return nil
	}
	a := templ.Attributes{"aria-describedby": strings.Join(by, " ")}
	if f.Problem != "" || f.Wrong != "" {
		a["aria-invalid"] = "true"
	}
	return a
}

// inputAttributes are the attributes of an input that are left out when they are empty.
func inputAttributes(f Field) templ.Attributes {
	a := templ.Attributes{}
	for name, value := range map[string]string{"placeholder": f.Placeholder, "autocomplete": f.Autocomplete,
		"pattern": f.Pattern, "maxlength": f.MaxLength, "inputmode": f.Mode} {
		if value != "" {
			a[name] = value
		}
	}
	if len(f.Suggestions) > 0 {
		a["list"] = fieldID(f) + "-list"
	}
	if f.Exact {
		a["autocapitalize"], a["spellcheck"] = "none", "false"
	}
	return a
}

func submitClass(f Form) string {
	switch {
	case f.Warn:
		return "button warn"
	case f.Main:
		return "button"
	}
	return "button second"
}

// asksNewPassword says whether somebody chooses a password in a form; a script says how good it is.
func asksNewPassword(f Form) bool {
	return slices.ContainsFunc(f.Fields, func(f Field) bool { return f.Autocomplete == newPassword })
}

// newPassword is what the attribute autocomplete says of a password that is being chosen.
const newPassword = "new-password"

// seriesOf returns the names of a chart's lines, as the script splits them.
func seriesOf(g Graph) string { return strings.Join(g.Series, "|") }
