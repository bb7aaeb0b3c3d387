package upkeep

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// releaseProgram gives back the pages of the program's file that are in memory. The kernel maps many around each one
// that is used, so that after a start most of the file counts as resident; what is still used is mapped again at its
// next use, without reading the disk. Only parts that nobody can write are given back, and of which every page is the
// same as in the file: a loader may have changed some before it took away the right to write.
func releaseProgram() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer maps.Close()
	var from, to uintptr
	ours := false
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		line := lines.Text()
		var a, b uintptr
		var rights string
		if n, _ := fmt.Sscanf(line, "%x-%x %4s", &a, &b, &rights); n == 3 {
			from, to = a, b
			ours = strings.HasSuffix(line, " "+program) && !strings.Contains(rights, "w")
			continue
		}
		if changed, ok := strings.CutPrefix(line, "Anonymous:"); !ok || !ours || strings.TrimSpace(changed) != "0 kB" {
			continue
		}
		if _, _, code := syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED); code != 0 {
			return code
		}
	}
	return lines.Err()
}
