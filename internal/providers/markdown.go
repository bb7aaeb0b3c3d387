package providers

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise/internal/resilience"
)

// Tables are a provider's error tables for the documentation: docs/providers.md holds what Markdown makes of them.
type Tables struct {
	Provider string
	Sources  []string // addresses at which the provider documents its errors
	// Reading says where an answer has its code, and what is not in the tables, in whole sentences.
	Reading string
	// Own are the codes that are ours and not the provider's, with their meaning.
	Own map[string]string
	Of  []NamedTable
}

// NamedTable is one of a provider's tables.
type NamedTable struct {
	Calls string // which calls it is about: "all calls"
	Table Table
}

const tableHead = "| status | code | verdict | wait | what a person is told |\n| --- | --- | --- | --- | --- |\n"

// Markdown renders the tables in the order in which their rows count. Neighbours that differ in their code only share a
// line, and a table that holds the whole of the first names it.
func (t Tables) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s\n\nDocumented at %s.\n", t.Provider, t.Reading,
		strings.Join(links(t.Sources), " and "))
	for i, n := range t.Of {
		fmt.Fprintf(&b, "\n### %s: %s\n\n%s", t.Provider, n.Calls, tableHead)
		rows, first := n.Table, t.Of[0]
		at := -1
		if i > 0 {
			at = indexOf(rows, first.Table)
		}
		for len(rows) > 0 {
			same := 1
			switch {
			case at == 0:
				same = len(first.Table)
				fmt.Fprintf(&b, "| | | all rows of *%s* | | |\n", first.Calls)
			default:
				for same < len(rows) && same != at && sharesLine(rows[0], rows[same]) {
					same++
				}
				b.WriteString(t.line(rows[:same]))
			}
			rows, at = rows[same:], at-same
		}
	}
	return b.String()
}

// sharesLine says whether two rows differ in their code only.
func sharesLine(a, b Row) bool {
	return a.Status == b.Status && a.Meaning == b.Meaning && a.Code != "" && b.Code != ""
}

// indexOf returns where all of part is in whole, or -1.
func indexOf(whole, part Table) int {
	for i := range len(whole) - len(part) + 1 {
		if len(part) > 0 && slices.Equal(whole[i:i+len(part)], part) {
			return i
		}
	}
	return -1
}

// line renders rows that differ in their code only.
func (t Tables) line(rows Table) string {
	status, codes := "any", make([]string, len(rows))
	if rows[0].Status != 0 {
		status = strconv.Itoa(rows[0].Status)
	}
	for i, r := range rows {
		codes[i] = "any"
		if r.Code != "" {
			codes[i] = "`" + r.Code + "`"
		}
		if stands, ours := t.Own[r.Code]; ours {
			codes[i] += " (ours: " + stands + ")"
		}
	}
	m := rows[0].Meaning
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n",
		status, strings.Join(codes, ", "), verdictOf(m), waitOf(m), told(m))
}

func verdictOf(m resilience.Meaning) string {
	if m.Class == resilience.OK {
		return m.Class.String()
	}
	text := fmt.Sprintf("%s · %s · %s", m.Class, m.Category, m.Scope)
	if m.FatalAfter > 0 {
		text += fmt.Sprintf("; after %d in a row fatal · %s", m.FatalAfter, resilience.Contract)
	}
	return text
}

// waitOf is the wait that counts when the answer names none.
func waitOf(m resilience.Meaning) string {
	switch {
	case m.Hold == 0:
		return ""
	case m.HoldMax > 0:
		return span(m.Hold) + ", doubling up to " + span(m.HoldMax)
	}
	return span(m.Hold)
}

func span(d time.Duration) string {
	for unit, name := range []string{"h", "min", "s"} {
		if size := []time.Duration{time.Hour, time.Minute, time.Second}[unit]; d%size == 0 {
			return fmt.Sprintf("%d %s", d/size, name)
		}
	}
	return d.String()
}

func told(m resilience.Meaning) string { return strings.ReplaceAll(m.Advice, "|", "\\|") }

func links(addresses []string) []string {
	out := make([]string, len(addresses))
	for i, a := range addresses {
		out[i] = "<" + a + ">"
	}
	return out
}

// Overview renders a table of what each provider is for, whose servers it calls, how often, and what it needs.
func Overview(all []Description) string {
	var b strings.Builder
	b.WriteString("| service | name | what for | servers of | requests per second | needs |\n" +
		"| --- | --- | --- | --- | --- | --- |\n")
	for _, d := range all {
		pace := "as its answers ask"
		if d.Pace.PerSecond > 0 {
			pace = fmt.Sprintf("%g per %s", d.Pace.PerSecond, d.Pace.Per)
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s | %s |\n",
			d.DisplayName, d.Name, d.Purpose, d.Owner, pace, d.needs())
	}
	return b.String()
}

// needs renders the settings without which a provider is not used, with where to get them.
func (d Description) needs() string {
	var all []string
	for _, s := range d.Settings {
		if s.Required {
			all = append(all, fmt.Sprintf("`%s` from <%s>", d.Path(s.Name), s.From))
		}
	}
	if len(d.Contact.Domains) > 0 {
		all = append(all, "`contact`")
	}
	return strings.Join(all, ", ")
}

// GeneralMarkdown renders what counts for every provider: the general table by status, that of a token endpoint, and
// what is no answer at all. It asks those who judge, so that it says what they do.
func GeneralMarkdown() string {
	var b strings.Builder
	b.WriteString("## Every provider\n\n### Every provider: by status\n\n| status | verdict |\n| --- | --- |\n")
	for _, g := range byMeaning(resilience.StatusMeaning) {
		fmt.Fprintf(&b, "| %s | %s |\n", ranges(g.statuses), verdictOf(g.meaning))
	}
	b.WriteString("\n### Every provider: the token endpoint of OAuth\n\n| code | status | verdict |\n| --- | --- " +
		"| --- |\n")
	for _, code := range []string{"invalid_grant", "invalid_client", "unauthorized_client", ""} {
		name := "any other, or none"
		if code != "" {
			name = "`" + code + "`"
		}
		meaning := func(status int) resilience.Meaning { return resilience.TokenMeaning(status, code) }
		for _, g := range byMeaning(meaning) {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", name, ranges(g.statuses), verdictOf(g.meaning))
		}
	}
	b.WriteString("\n### Every provider: what no table is asked about\n\n| outcome | verdict |\n| --- | --- |\n")
	for _, o := range []struct {
		outcome string
		err     error
	}{
		{"a page (HTML) where data is due, with whatever status",
			&resilience.AnswerError{Status: http.StatusForbidden, HTML: true}},
		{"429 without a time that can be used", &resilience.AnswerError{Status: http.StatusTooManyRequests}},
		{"no complete answer: refused, reset, timed out, not resolved, cut off",
			&resilience.NetworkError{Err: io.ErrUnexpectedEOF}},
		{"a complete answer of another shape than documented", &resilience.ContractError{}},
		{"a setting that is missing or malformed", &resilience.SettingError{}},
		{"an endpoint that is not asked while its breaker is open",
			&resilience.NotBeforeError{State: resilience.State{Category: resilience.CircuitOpen}}},
		{"anything else", errors.New("something else")},
	} {
		v := resilience.Classify(o.err)
		fmt.Fprintf(&b, "| %s | %s |\n", o.outcome,
			verdictOf(resilience.Meaning{Class: v.Class, Category: v.Category, Scope: v.Scope,
				FatalAfter: v.FatalAfter}))
	}
	return b.String()
}

type meant struct {
	meaning  resilience.Meaning
	statuses []int
}

// byMeaning groups all statuses by what they mean, in the order of their first.
func byMeaning(meaning func(int) resilience.Meaning) (groups []meant) {
	for status := 100; status <= 599; status++ {
		m := meaning(status)
		i := slices.IndexFunc(groups, func(g meant) bool { return g.meaning == m })
		if i < 0 {
			i = len(groups)
			groups = append(groups, meant{meaning: m})
		}
		groups[i].statuses = append(groups[i].statuses, status)
	}
	return groups
}

// ranges writes ascending numbers with what lies between left out: "408, 425, 500–599".
func ranges(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		part := strconv.Itoa(numbers[i])
		if j > i {
			part += "–" + strconv.Itoa(numbers[j])
		}
		parts, i = append(parts, part), j+1
	}
	return strings.Join(parts, ", ")
}
