package enginetest_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/words"
)

const tableHead = "| status | code | verdict | wait | what a person reads |\n| --- | --- | --- | --- | --- |\n"

// markdownOf renders the tables, each with its rows in order of precedence. Adjacent rows that differ only in their
// code share a line, and a table that contains the first one refers to it.
func markdownOf(t providers.Tables) string {
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
				b.WriteString(line(t, rows[:same]))
			}
			rows, at = rows[same:], at-same
		}
	}
	return b.String()
}

// sharesLine reports whether two rows differ only in their code.
func sharesLine(a, b providers.Row) bool {
	return a.Status == b.Status && a.Meaning == b.Meaning && a.Code != "" && b.Code != ""
}

// indexOf returns the index of part in whole, or -1.
func indexOf(whole, part providers.Table) int {
	for i := range len(whole) - len(part) + 1 {
		if len(part) > 0 && slices.Equal(whole[i:i+len(part)], part) {
			return i
		}
	}
	return -1
}

// line renders rows that differ only in their code.
func line(t providers.Tables, rows providers.Table) string {
	status, codes := "any", make([]string, len(rows))
	if rows[0].Status != 0 {
		status = strconv.Itoa(rows[0].Status)
	}
	for i, r := range rows {
		codes[i] = "any"
		if r.Code != "" {
			codes[i] = "`" + r.Code + "`"
		}
		if meaning, own := t.Own[r.Code]; own {
			codes[i] += " (Reprise's: " + meaning + ")"
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

// waitOf returns the wait for answers that name none.
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

func told(m resilience.Meaning) string {
	text := words.Of(m.Advice).String()
	if m.ForAdmin != nil {
		text += " *The administrator:* " + m.ForAdmin.String()
	}
	return strings.ReplaceAll(text, "|", "\\|")
}

func links(addresses []string) []string {
	out := make([]string, len(addresses))
	for i, a := range addresses {
		out[i] = "<" + a + ">"
	}
	return out
}

// overviewOf renders a table of the providers: purpose, operator, pace and required settings.
func overviewOf(all []providers.Description) string {
	var b strings.Builder
	b.WriteString("| service | name | what for | servers of | requests per second | needs |\n" +
		"| --- | --- | --- | --- | --- | --- |\n")
	for _, d := range all {
		pace := "as its answers ask"
		if d.Pace.PerSecond > 0 {
			pace = fmt.Sprintf("%g per %s", d.Pace.PerSecond, d.Pace.Per)
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s | %s |\n",
			d.DisplayName, d.Name, d.Purpose, d.Owner, pace, needsOf(d))
	}
	return b.String()
}

// needsOf renders the required settings of a provider and where to get them.
func needsOf(d providers.Description) string {
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

// generalMarkdown renders the rules for all providers: the general table by status, the table of token endpoints, and
// failures without an answer. It calls the functions that classify, so that it cannot differ from them.
func generalMarkdown() string {
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
	b.WriteString("\n### Every provider: outcomes outside the tables\n\n| outcome | verdict |\n| --- | --- |\n")
	for _, o := range []struct {
		outcome string
		err     error
	}{
		{"a page (HTML) instead of data, with any status",
			&resilience.AnswerError{Status: http.StatusForbidden, HTML: true}},
		{"429 without a usable time", &resilience.AnswerError{Status: http.StatusTooManyRequests}},
		{"no complete answer: refused, reset, timed out, not resolved, cut short",
			&resilience.NetworkError{Err: io.ErrUnexpectedEOF}},
		{"a complete answer of another shape than documented", &resilience.ContractError{}},
		{"a setting that is missing or malformed", &resilience.SettingError{}},
		{"a call that an open breaker holds back",
			&backoff.NotBeforeError{State: backoff.State{Category: resilience.CircuitOpen}}},
		{"anything else", errors.New("something else")},
	} {
		v := resilience.VerdictOf(o.err)
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

// byMeaning groups all statuses by their meaning, ordered by the first status of each group.
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

// ranges formats ascending numbers and joins runs: "408, 425, 500–599".
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
