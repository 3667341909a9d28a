package durable_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/internal/must"
)

// lockVar is the environment variable that makes this test program take a lock and wait to be killed.
const lockVar = "STOKER_TEST_HOLD_LOCK"

func TestMain(m *testing.M) {
	if path := os.Getenv(lockVar); path != "" {
		if _, err := durable.AcquireLock(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("held")
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestLockGoesWithItsProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), lockVar+"="+path)
	stdin, err := cmd.StdinPipe()
	must.Do(t, err)
	defer stdin.Close()
	out, err := cmd.StdoutPipe()
	must.Do(t, err)
	must.Do(t, cmd.Start())
	said := make([]byte, 4)
	if _, err := io.ReadFull(out, said); err != nil || string(said) != "held" {
		t.Fatalf("the other process says %q, %v", said, err)
	}

	_, err = durable.AcquireLock(path)
	var held *durable.HeldError
	if !errors.As(err, &held) {
		t.Fatalf("a held lock: %v", err)
	}
	host, _ := os.Hostname()
	if want := fmt.Sprintf("%s: in use by pid %d on host %s", path, cmd.Process.Pid, host); err.Error() != want {
		t.Errorf("message %q, want %q", err, want)
	}

	must.Do(t, cmd.Process.Kill())
	cmd.Wait()
	l, err := durable.AcquireLock(path)
	if err != nil {
		t.Fatalf("after its holder was killed: %v", err)
	}
	if _, err := durable.AcquireLock(path); err == nil {
		t.Error("one process took the lock twice")
	}
	must.Do(t, l.Release())
	if b, err := os.ReadFile(path); err != nil || len(b) != 0 {
		t.Errorf("a released lock says %q, %v", b, err)
	}
	if l, err = durable.AcquireLock(path); err != nil {
		t.Fatalf("after release: %v", err)
	}
	l.Release()
}

func TestLockWhereNoFileCanBe(t *testing.T) {
	_, err := durable.AcquireLock(filepath.Join(t.TempDir(), "no", "lock"))
	if err == nil || !strings.Contains(err.Error(), filepath.Join("no", "lock")) {
		t.Errorf("error %v does not name the file", err)
	}
}
