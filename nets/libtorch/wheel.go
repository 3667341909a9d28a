package libtorch

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// wanted says whether a file of a wheel is of use without Python: libraries,
// headers, the version and the licences.
func wanted(name string) bool {
	top, rest, ok := strings.Cut(name, "/")
	if !ok || strings.HasSuffix(name, "/") {
		return false
	}
	base := path.Base(name)
	switch {
	case strings.HasSuffix(top, ".dist-info"):
		upper := strings.ToUpper(rest)
		return rest == "METADATA" || strings.HasPrefix(upper, "LICEN") || strings.HasPrefix(upper, "NOTICE")
	case top == "torch":
		if rest == "version.py" || strings.HasPrefix(rest, "include/") {
			return true
		}
		return strings.HasPrefix(rest, "lib/") && isLibrary(base) &&
			!strings.HasPrefix(base, "libtorch_python") && !strings.HasPrefix(base, "libshm")
	case top == "torch.libs":
		return isLibrary(base)
	case top == "nvidia":
		dir := path.Base(path.Dir(name))
		return dir == "lib" && isLibrary(base) || strings.Contains(rest, "/include/")
	}
	return false
}

func isLibrary(base string) bool {
	return strings.HasSuffix(base, ".so") || strings.Contains(base, ".so.")
}

// unpack takes what is wanted of a wheel into dir and returns the wheel's
// METADATA. archive/zip holds every file against its checksum.
func unpack(wheel, dir string) (metadata string, err error) {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return "", fmt.Errorf("%s: %w", wheel, err)
	}
	defer func() { _ = z.Close() }() // only read
	for _, f := range z.File {
		if !wanted(f.Name) {
			continue
		}
		if !filepath.IsLocal(f.Name) {
			return "", fmt.Errorf("%s: the name %q leads out of the archive", wheel, f.Name)
		}
		to := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := unpackFile(f, to); err != nil {
			return "", fmt.Errorf("%s: %w", wheel, err)
		}
		if strings.HasSuffix(f.Name, ".dist-info/METADATA") {
			text, err := os.ReadFile(to)
			if err != nil {
				return "", err
			}
			metadata = string(text)
		}
	}
	if metadata == "" {
		return "", fmt.Errorf("%s is no wheel: it has no METADATA", wheel)
	}
	return metadata, nil
}

func unpackFile(f *zip.File, to string) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := f.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := out.Close(); err == nil {
			err = cerr
		}
	}()
	if _, err := io.Copy(out, in); err != nil {
		return fmt.Errorf("unpacking %s: %w", f.Name, err)
	}
	return nil
}

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
		if extra = strings.TrimSpace(extra); slices.Contains(names, extra) {
			kept = append(kept, extra)
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
