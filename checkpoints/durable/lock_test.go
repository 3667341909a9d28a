package durable_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
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

// Processes that begin together keep their folders; those of a killed one go, and one without a mark is just being made.
func TestScratch(t *testing.T) {
	scratch := t.TempDir()
	killed, making := filepath.Join(scratch, "stoker-worker-1"), filepath.Join(scratch, "stoker-worker-2")
	must.Do(t, os.MkdirAll(making, 0o700))
	must.Do(t, os.MkdirAll(killed, 0o700))
	must.Do(t, os.WriteFile(filepath.Join(killed, "ours"), nil, 0o600))
	const processes = 16
	var dirs [processes]string
	var leaves [processes]func() error
	var all sync.WaitGroup
	for i := range processes {
		all.Go(func() {
			var err error
			if dirs[i], leaves[i], err = durable.Scratch(scratch, "stoker-worker-"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, d := range append(dirs[:], making) {
		if _, err := os.Stat(d); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(killed); !os.IsNotExist(err) {
		t.Errorf("the folder of a killed process: %v", err)
	}
	for _, leave := range leaves {
		if leave != nil {
			must.Do(t, leave())
		}
	}
	if left := must.Get(os.ReadDir(scratch))(t); len(left) != 1 {
		t.Errorf("%d folders are left, want that which is being made", len(left))
	}
}
