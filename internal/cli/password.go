package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// newPassword asks twice for a password on a terminal without showing it. It reads one line when stdin is no terminal.
func newPassword(ctx context.Context, name string, stdin io.Reader, stdout io.Writer) (string, error) {
	terminal, ok := terminalOf(stdin)
	if !ok {
		line, err := bufio.NewReader(stdin).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the password: %w", err)
		}
		if line = strings.TrimRight(line, "\r\n"); line == "" {
			return "", errors.New("no password came on standard input. " +
				"Send it as one line, or run the command on a terminal to be asked for it")
		}
		return line, nil
	}
	first, err := ask(ctx, terminal, stdout, "New password for "+name+": ")
	if err != nil {
		return "", err
	}
	again, err := ask(ctx, terminal, stdout, "The same once more: ")
	if err == nil && first != again {
		err = errors.New("the two were not the same, and nothing was changed. Run the command again")
	}
	return first, err
}

// confirm asks for a word on stdin, and reports whether it came.
func confirm(word string, stdin io.Reader, stdout io.Writer) (bool, error) {
	fmt.Fprintf(stdout, "Type %q to go on: ", word)
	line, err := bufio.NewReader(stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	return strings.TrimSpace(line) == word, nil
}

// ask reads a line from the terminal without showing it. When ctx ends first, it restores the terminal.
func ask(ctx context.Context, f *os.File, stdout io.Writer, prompt string) (string, error) {
	fd := int(f.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	fmt.Fprint(stdout, prompt)
	type answer struct {
		line []byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() { // nothing can interrupt it, so it is left behind when the program ends
		line, err := term.ReadPassword(fd)
		answers <- answer{line, err}
	}()
	select {
	case a := <-answers:
		fmt.Fprintln(stdout)
		if a.err != nil {
			return "", fmt.Errorf("read the password: %w", a.err)
		}
		return string(a.line), nil
	case <-ctx.Done():
		fmt.Fprintln(stdout)
		return "", errors.Join(ctx.Err(), term.Restore(fd, before))
	}
}
