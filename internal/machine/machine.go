// Package machine tells what this process runs on.
package machine

import (
	"os"
	"strconv"
	"strings"
)

// Memory is how many bytes of memory this process may use: the machine's, or its control group's limit where that is
// less. It is 0 where the system does not tell.
func Memory() int64 {
	least := int64(0)
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		least = total(string(b))
	}
	if b, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && limit > 0 {
			if least == 0 || limit < least {
				least = limit
			}
		}
	}
	return least
}

// total reads the line "MemTotal: 1234 kB" of /proc/meminfo.
func total(text string) int64 {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemTotal:" && f[2] == "kB" {
			kib, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				return 0
			}
			return kib * 1024
		}
	}
	return 0
}

// CPU is the processor's name; where the system does not tell, "unknown".
func CPU() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}
