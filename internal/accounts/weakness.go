package accounts

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"strings"
	"unicode"

	"reprise/internal/words"
)

//go:embed common.txt.gz
var common []byte

// The sentences about passwords that are easily guessed.
var (
	isCommon   = words.New("input.password_common")
	isOwn      = words.New("input.password_own")
	isRepeated = words.New("input.password_repeated")
)

// keyboard has the rows that fingers run along.
var keyboard = []string{"qwertyuiopasdfghjklzxcvbnm", "qwertzuiopasdfghjklyxcvbnm", "azertyuiopqsdfghjklmwxcvbn",
	"1234567890", "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p"}

// mostAround is how many bytes of digits and signs around a common password leave it a common one.
const mostAround = 8

// Weakness says in a sentence why a password is easily guessed; empty if this package knows no reason. Own are names
// that guessers know, such as that of the account.
func Weakness(password string, own ...string) words.Text {
	p := strings.ToLower(strings.TrimSpace(password))
	core := strings.TrimFunc(p, notLetter)
	for _, name := range own {
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" && strings.Contains(p, name) {
			rest := strings.ReplaceAll(p, name, "")
			if !strings.ContainsFunc(rest, unicode.IsLetter) {
				return isOwn
			}
		}
	}
	unit := repeated(p)
	if len(unit) <= 4 && unit != p || runs(p) || unit != p && runs(unit) {
		return isRepeated
	}
	known, err := listed(p, unit)
	if !known && err == nil && len(p)-len(core) <= mostAround {
		known, err = listed(core, repeated(core), plain(core), plain(strings.TrimRightFunc(p, notLetter)))
	}
	switch {
	case err != nil:
		panic(fmt.Sprintf("accounts: the embedded list cannot be read: %v", err))
	case known:
		return isCommon
	}
	return words.Text{}
}

// repeated returns the shortest text whose repetition makes p; the last repetition may be incomplete.
func repeated(p string) string {
	for n := 1; n <= len(p)/2; n++ {
		if strings.HasPrefix(strings.Repeat(p[:n], len(p)/n+1), p) {
			return p[:n]
		}
	}
	return p
}

// runs says whether p is one run of the alphabet, of the digits or of the keyboard, in either direction.
func runs(p string) bool {
	up, down := len(p) > 3, len(p) > 3
	for i := 1; i < len(p); i++ {
		up, down = up && p[i] == p[i-1]+1, down && p[i] == p[i-1]-1
	}
	if up || down {
		return true
	}
	back := []byte(p)
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	for _, row := range keyboard {
		if len(p) > 3 && (strings.Contains(row+row, p) || strings.Contains(row+row, string(back))) {
			return true
		}
	}
	return false
}

// look maps the characters that people write for letters back.
var look = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i")

// plain returns p with its letters, as in "p4ssw0rd".
func plain(p string) string {
	return strings.TrimFunc(look.Replace(p), notLetter)
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) }

// listed says whether one of the texts of at least four characters is in the list.
func listed(texts ...string) (bool, error) {
	wanted := map[string]bool{}
	for _, text := range texts {
		if len(text) >= 4 {
			wanted[text] = true
		}
	}
	r, err := gzip.NewReader(bytes.NewReader(common))
	if err != nil {
		return false, err
	}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if wanted[string(lines.Bytes())] {
			return true, nil
		}
	}
	return false, lines.Err()
}
