package train

import (
	"bytes"
	"os"
	"runtime"
	"strings"
)

// Machine is where something was computed.
type Machine struct {
	Host  string `json:"host"`
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	Go    string `json:"go"`
}

// ThisMachine describes the machine that runs this program; what the system doesn't tell is "unknown".
func ThisMachine() Machine {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return Machine{Host: host, OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: CPUModel(),
		Cores: runtime.NumCPU(), Go: runtime.Version()}
}

// CPUModel returns the processor's name where the system tells it.
func CPUModel() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range bytes.Lines(b) {
		if k, v, ok := strings.Cut(string(line), ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}

func workingFolder() string {
	dir, err := os.Getwd()
	if err != nil {
		return "unknown"
	}
	return dir
}
