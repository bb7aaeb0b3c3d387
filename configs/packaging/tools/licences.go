package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// legal matches the names of files that say how something may be used.
var legal = regexp.MustCompile(`(?i)^(un)?licen[cs]e|^copying|^notice|^patents$`)

// licences writes the licences of all modules that are linked in: those of the module, and of the directories between
// it and each package. A module without any is an error.
func licences(list io.Reader, file string) error {
	files := map[string][]string{} // by module
	in := bufio.NewScanner(list)
	for in.Scan() {
		f := strings.Split(in.Text(), "\t")
		if len(f) != 4 {
			return fmt.Errorf("a line of the list has no four fields: %q", in.Text())
		}
		name := strings.TrimSpace(f[0] + " " + f[1])
		for dir := f[3]; ; dir = filepath.Dir(dir) {
			found, err := legalIn(dir)
			if err != nil {
				return err
			}
			files[name] = append(files[name], found...)
			if dir == f[2] || len(dir) <= len(f[2]) {
				break
			}
		}
	}
	if err := in.Err(); err != nil {
		return err
	}
	var out bytes.Buffer
	fmt.Fprintln(&out, "Reprise contains the work of others. These are their licences.")
	for _, name := range sorted(files) {
		all := slices.Compact(slices.Sorted(slices.Values(files[name])))
		if len(all) == 0 {
			return fmt.Errorf("%s has no licence", name)
		}
		for _, path := range all {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, "\n%s\n%s: %s\n\n%s\n", strings.Repeat("=", 80), name, filepath.Base(path),
				bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))))
		}
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

func sorted(files map[string][]string) (names []string) {
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// legalIn returns the files of a directory that have legal names.
func legalIn(dir string) (paths []string, err error) {
	all, err := os.ReadDir(dir)
	for _, f := range all {
		if f.Type().IsRegular() && legal.MatchString(f.Name()) && !strings.HasSuffix(f.Name(), ".go") {
			paths = append(paths, filepath.Join(dir, f.Name()))
		}
	}
	return paths, err
}
