// Command tools packs what make dist has built: archives, the container image and the list of licences. What it writes
// depends on its input and on SOURCE_DATE_EPOCH only, so that two builds of one commit are the same bytes.
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

const usage = `tools archive FILE DIRECTORY    pack a directory as FILE, a .tar.gz or a .zip
tools licences FILE             write the licences of the packages that are listed on standard input, one a line:
                                module, version, its directory, and that of the package
tools image DIRECTORY VERSION ARCHITECTURE=FILES...
                                write the images, each made from a directory with the program and its licences`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return errors.New("SOURCE_DATE_EPOCH is not set to the time of the commit")
	}
	at := time.Unix(seconds, 0).UTC()
	switch {
	case len(args) == 3 && args[0] == "archive":
		return archive(args[1], args[2], at)
	case len(args) == 2 && args[0] == "licences":
		return licences(os.Stdin, args[1])
	case len(args) > 3 && args[0] == "image":
		return images(args[1], args[2], args[3:], at)
	}
	return errors.New(usage)
}
