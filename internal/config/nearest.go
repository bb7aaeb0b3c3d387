package config

import "fmt"

// Nearest returns the name of a list that is most like the one given, when it is alike enough to be what was meant;
// else the empty text.
func Nearest(name string, names []string) string {
	best, bestDistance := "", len(name)/3+2
	for _, n := range names {
		if d := distance(name, n); d < bestDistance {
			best, bestDistance = n, d
		}
	}
	return best
}

func nearest(name string, names []string) string {
	if n := Nearest(name, names); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return "."
}

// distance is how many characters have to be put in, left out or exchanged to turn a into b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
