package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pty is a terminal of the given size: what a person's side is, and the program's.
func pty(t *testing.T, width, height uint16) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatalf("there is no terminal to be had: %v", err)
	}
	t.Cleanup(func() { person.Close() })
	fd := int(person.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height})
	}
	if err == nil {
		program, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return person, program
}

// TestTopOnATerminalRenewsItselfUntilItIsLeft: by q, by Ctrl-C and by an
// interrupt; each leaves the terminal as it was.
func TestTopOnATerminalRenewsItselfUntilItIsLeft(t *testing.T) {
	s := worked(t)
	for name, leave := range map[string]func(person *os.File, interrupt func()){
		"q":         func(p *os.File, _ func()) { p.Write([]byte("xq")) },
		"Ctrl-C":    func(p *os.File, _ func()) { p.Write([]byte{3}) },
		"interrupt": func(_ *os.File, interrupt func()) { interrupt() },
	} {
		person, program := pty(t, 44, 12)
		before, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		ctx, interrupt := context.WithCancel(context.Background())
		defer interrupt()
		var shown safeBuffer
		go io.Copy(&shown, person)
		done := make(chan int, 1)
		go func() {
			done <- run(ctx, []string{"top", "--every", "100ms"}, func(k string) string { return s.env[k] }, program, program, io.Discard)
		}()
		const frame = "\x1b[H"
		for range 300 {
			if strings.Count(shown.String(), frame) >= 3 {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		leave(person, interrupt)
		select {
		case code := <-done:
			if code != 0 {
				t.Errorf("%s: exit %d", name, code)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: it goes on:\n%q", name, shown.String())
		}
		time.Sleep(50 * time.Millisecond) // until the other side has read it
		text := shown.String()
		if strings.Count(text, frame) < 3 || !strings.HasPrefix(text, "\x1b[?1049h\x1b[?25l") || !strings.HasSuffix(text, "\x1b[?25h\x1b[?1049l") {
			t.Errorf("%s: %q", name, text)
		}
		if strings.Count(text, frame) < 3 {
			continue
		}
		frames := strings.Split(text, frame)
		if one := frames[2]; strings.Count(one, "\r\n") > 11 || !strings.Contains(one, "over 0.") || !strings.Contains(one, "queue ") {
			t.Errorf("%s: a screen of 44 by 12: %q", name, one)
		}
		after, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
		if err != nil || *after != *before {
			t.Errorf("%s: the terminal is not as it was: %v", name, err)
		}
	}
}
