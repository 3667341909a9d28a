package bench

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/train"
)

// Machine describes where a figure was measured.
type Machine struct {
	CPU    string  `json:"cpu"`
	Cores  int     `json:"cores"`
	Memory float64 `json:"memory_mb,omitempty"` // absent where the system doesn't report it
	OS     string  `json:"os"`
	Arch   string  `json:"arch"`
	Go     string  `json:"go"`
}

// ThisMachine describes the machine that runs this program.
func ThisMachine() Machine {
	return Machine{
		CPU: train.CPUModel(), Cores: runtime.NumCPU(), Memory: procMB("/proc/meminfo", "MemTotal"),
		OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version(),
	}
}

// startMemory resets the peak that peakMemory returns. Where the system can't do that, the peak is that of the process
// so far.
func startMemory() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // 5 resets the peak of the resident set (proc(5))
}

// peakMemory is the peak of the resident memory in MB; 0 where the system doesn't report it.
func peakMemory() float64 { return procMB("/proc/self/status", "VmHWM") }

// procMB reads a line such as "VmHWM:  1234 kB".
func procMB(path, key string) float64 {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(b) {
		if f := strings.Fields(string(line)); len(f) == 3 && f[0] == key+":" && f[2] == "kB" {
			kib, err := strconv.ParseFloat(f[1], 64)
			if err != nil {
				return 0
			}
			return kib * 1024 / 1e6
		}
	}
	return 0
}

// cpuSeconds is the processor time of this process; 0 where the system doesn't report it.
func cpuSeconds() float64 {
	b, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	// The name in brackets may hold anything; after it come the state and, 11 fields on, user and system time in ticks
	// of 10 ms.
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 13 {
		return 0
	}
	user, err := strconv.ParseFloat(string(f[11]), 64)
	if err != nil {
		return 0
	}
	system, err := strconv.ParseFloat(string(f[12]), 64)
	if err != nil {
		return 0
	}
	return (user + system) / 100
}
