package libtorch

import (
	"fmt"
	"regexp"
	"strings"
)

var requirementForm = regexp.MustCompile(`^([A-Za-z0-9._-]+)\s*(?:\[([^\]]*)\])?\s*\(?\s*([^;)]*?)\s*\)?\s*(?:;(.*))?$`)

// cudaRequirements reads a torch wheel's METADATA and returns what to ask pip
// for beside it. libtorch_cpu.so of a CUDA build itself needs CUDA's runtime
// and its profiling interface; the rest is for libtorch_cuda.so (all). What is
// of use to Python only (sympy, triton, …) is left out.
func cudaRequirements(metadata string, all bool) []string {
	var wanted []string
	for line := range strings.Lines(metadata) {
		line = strings.TrimSpace(line)
		if line == "" {
			break // the headers are over
		}
		text, ok := strings.CutPrefix(line, "Requires-Dist: ")
		if !ok {
			continue
		}
		m := requirementForm.FindStringSubmatch(text)
		if m == nil || strings.Contains(m[4], "extra ==") {
			continue
		}
		name, extras, version := m[1], m[2], strings.ReplaceAll(m[3], " ", "")
		switch {
		case name == "cuda-toolkit":
			if !all {
				extras = keepExtras(extras, "cudart", "cupti")
			}
			if extras != "" {
				wanted = append(wanted, fmt.Sprintf("%s[%s]%s", name, extras, version))
			}
		case strings.HasPrefix(name, "nvidia-cuda-runtime"), strings.HasPrefix(name, "nvidia-cuda-cupti"),
			all && strings.HasPrefix(name, "nvidia-"):
			wanted = append(wanted, name+version)
		}
	}
	return wanted
}

// keepExtras keeps those of a comma-separated list that are named.
func keepExtras(list string, names ...string) string {
	var kept []string
	for extra := range strings.SplitSeq(list, ",") {
		for _, name := range names {
			if strings.TrimSpace(extra) == name {
				kept = append(kept, name)
			}
		}
	}
	return strings.Join(kept, ",")
}

// pythonTags are the interpreters whose wheels are asked for, in this order.
// libtorch is the same in all of them; a fixed one makes a fetch repeatable,
// the others stand by for releases that do not have it.
var pythonTags = []string{"312", "311", "313", "310", "314", "39"}

// pipTags says which wheels pip may take: for one Python, built against a C
// library no newer than this machine's.
func pipTags(python, goarch string, glibcMajor, glibcMinor int) []string {
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[goarch]
	args := []string{
		"--only-binary=:all:", "--implementation", "cp", "--python-version", python, "--abi", "cp" + python,
	}
	for minor := glibcMinor; minor >= 5; minor-- {
		args = append(args, "--platform", fmt.Sprintf("manylinux_%d_%d_%s", glibcMajor, minor, arch))
	}
	return append(args,
		"--platform", "manylinux2014_"+arch, "--platform", "manylinux2010_"+arch,
		"--platform", "manylinux1_"+arch, "--platform", "linux_"+arch)
}
