package machine

import (
	"runtime"
	"testing"
)

func TestTotal(t *testing.T) {
	const text = "MemFree: 5 kB\nMemTotal:       24576 kB\nMemAvailable: 7 kB\n"
	if got := total(text); got != 24<<20 {
		t.Errorf("%d bytes, want %d", got, 24<<20)
	}
	if got := total("MemTotal: many kB\n"); got != 0 {
		t.Errorf("%d bytes of a line without a number, want 0", got)
	}
}

func TestMemory(t *testing.T) {
	got := Memory()
	if runtime.GOOS == "linux" && got < 64<<20 {
		t.Errorf("this machine has %d bytes, want 64 MiB at least", got)
	}
}
