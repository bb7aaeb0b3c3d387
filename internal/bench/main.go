// Command bench reads what go test -bench has printed, and prints each figure that has a limit beside it. With -strict
// it fails when a limit is missed, or when a figure is missing.
package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/perf/benchfmt"
)

func main() {
	strict := flag.Bool("strict", false, "fail when a limit is missed")
	flag.Parse()
	f, err := os.Open(flag.Arg(0))
	if err == nil {
		var missed int
		if missed, err = judge(f, os.Stdout, limits); err == nil && *strict && missed > 0 {
			err = fmt.Errorf("%d limits are missed", missed)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// figures are the values of a benchmark's repetitions, by their unit.
type figures map[string][]float64

var processors = regexp.MustCompile(`-\d+$`)

// read returns the figures of each benchmark, by its name without the number of processors.
func read(r io.Reader) (map[string]figures, error) {
	all := map[string]figures{}
	in := benchfmt.NewReader(r, "")
	for in.Scan() {
		result, ok := in.Result().(*benchfmt.Result)
		if !ok {
			continue // a line that is none of a benchmark
		}
		name := processors.ReplaceAllString(string(result.Name), "")
		if all[name] == nil {
			all[name] = figures{}
		}
		for _, v := range result.Values {
			unit, value := v.Unit, v.Value
			if v.OrigUnit != "" { // benchfmt makes seconds and bytes of units that it knows
				unit, value = v.OrigUnit, v.OrigValue
			}
			all[name][unit] = append(all[name][unit], value)
			if unit == "ns/op" {
				all[name]["ms/op"] = append(all[name]["ms/op"], value/1e6)
			}
		}
	}
	return all, in.Err()
}

// of returns the median of a figure.
func of(all map[string]figures, benchmark, unit string) (float64, bool) {
	values := slices.Sorted(slices.Values(all[benchmark][unit]))
	if len(values) == 0 {
		return 0, false
	}
	return values[len(values)/2], true
}

// judge prints each figure beside its limit, and all others below. It returns how many limits are missed, those without
// a figure among them.
func judge(r io.Reader, w io.Writer, limits []limit) (missed int, err error) {
	all, err := read(r)
	if err != nil {
		return 0, err
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "what\tmeasured\tlimit\t\tbenchmark")
	judged := map[string]bool{}
	for _, l := range limits {
		judged[l.benchmark] = true
		value, ok := of(all, l.benchmark, l.unit)
		unit := l.unit
		if l.per != "" && ok {
			var per float64
			judged[l.per] = true
			if per, ok = of(all, l.per, l.unit); ok {
				value, unit = value/per, "×"
			}
		}
		bound, kept := fmt.Sprintf("≤ %s", number(l.most)), value <= l.most
		if l.least > 0 {
			bound, kept = fmt.Sprintf("≥ %s", number(l.least)), value >= l.least
		}
		verdict, measured := "kept", number(value)+" "+unit
		switch {
		case !ok:
			verdict, measured = "NOT MEASURED", "-"
			missed++
		case !kept:
			verdict = "MISSED"
			missed++
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", l.what, measured, bound, verdict, l.benchmark)
	}
	fmt.Fprintf(out, "\nwithout a limit\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if judged[name] {
			continue
		}
		var shown []string
		for _, unit := range slices.Sorted(maps.Keys(all[name])) {
			if value, _ := of(all, name, unit); unit != "ms/op" && value != 0 {
				shown = append(shown, number(value)+" "+unit)
			}
		}
		fmt.Fprintf(out, "%s\t%s\n", name, strings.Join(shown, ", "))
	}
	return missed, out.Flush()
}

// number returns a figure with as many digits as matter.
func number(v float64) string {
	switch {
	case v == float64(int64(v)) || v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 1:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
