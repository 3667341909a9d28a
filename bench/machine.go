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

// Machine is what a figure was measured on.
type Machine struct {
	CPU    string  `json:"cpu"`
	Cores  int     `json:"cores"`
	Memory float64 `json:"memory_mb,omitempty"` // absent where the system doesn't tell
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

// startMemory lets peakMemory count from now on. Where the system can't do that, peaks are those of the process so far.
func startMemory() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // 5 resets the peak of the resident set (proc(5))
}

// peakMemory is the most memory that was resident, in MB; 0 where the system doesn't tell.
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
