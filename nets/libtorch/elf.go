package libtorch

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// library is what the dynamic section of a shared library says.
type library struct {
	path    string
	machine elf.Machine
	needed  []string
	rpath   []string // $ORIGIN expanded
}

func readLibrary(path string) (library, error) {
	lib := library{path: path}
	f, err := elf.Open(path)
	if err != nil {
		return lib, fmt.Errorf("%s: %w", path, err)
	}
	defer func() { _ = f.Close() }() // only read
	lib.machine = f.Machine
	if lib.needed, err = f.ImportedLibraries(); err != nil {
		return lib, fmt.Errorf("%s: reading what it needs: %w", path, err)
	}
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		paths, err := f.DynString(tag)
		if err != nil {
			return lib, fmt.Errorf("%s: reading its library path: %w", path, err)
		}
		for _, list := range paths {
			for dir := range strings.SplitSeq(list, ":") {
				dir = strings.NewReplacer("${ORIGIN}", "$ORIGIN").Replace(dir)
				dir = strings.ReplaceAll(dir, "$ORIGIN", filepath.Dir(path))
				if dir = filepath.Clean(dir); !slices.Contains(lib.rpath, dir) {
					lib.rpath = append(lib.rpath, dir)
				}
			}
		}
	}
	return lib, nil
}

// newStrings says whether a C++ library was built with std::string as
// libstdc++ has it since 2015 (_GLIBCXX_USE_CXX11_ABI=1). The two do not link
// with each other. A library that names no string at all counts as new.
func newStrings(path string) (bool, error) {
	f, err := elf.Open(path)
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	defer func() { _ = f.Close() }() // only read
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return false, fmt.Errorf("%s: reading its symbols: %w", path, err)
	}
	old := false
	for _, s := range symbols {
		if strings.Contains(s.Name, "__cxx11") {
			return true, nil
		}
		// Ss is how the old std::string is mangled as a parameter.
		old = old || strings.HasPrefix(s.Name, "_Z") && strings.Contains(s.Name, "RKSs")
	}
	return !old, nil
}

// machineOf is the ELF machine that a Go architecture name stands for.
func machineOf(goarch string) elf.Machine {
	switch goarch {
	case "amd64":
		return elf.EM_X86_64
	case "arm64":
		return elf.EM_AARCH64
	}
	return elf.EM_NONE
}

// multiarch is Debian's name of the folder for an architecture's libraries.
func multiarch(goarch string) string {
	switch goarch {
	case "amd64":
		return "x86_64-linux-gnu"
	case "arm64":
		return "aarch64-linux-gnu"
	}
	return ""
}

// unresolved lists the libraries that this one needs and that lie neither on
// its own library path nor where the system's loader looks.
func (s *system) unresolved(lib library) []string {
	dirs := slices.Concat(lib.rpath, []string{filepath.Dir(lib.path)}, s.loaderDirs())
	var lost []string
	for _, name := range lib.needed {
		found := slices.ContainsFunc(dirs, func(dir string) bool {
			return exists(filepath.Join(dir, name))
		})
		if !found {
			lost = append(lost, name)
		}
	}
	return lost
}

// loaderDirs are the folders that the system's loader searches by default.
func (s *system) loaderDirs() []string {
	arch := multiarch(s.goarch)
	dirs := filepath.SplitList(s.env("LD_LIBRARY_PATH"))
	for _, d := range []string{"/lib/" + arch, "/usr/lib/" + arch, "/lib64", "/usr/lib64", "/lib", "/usr/lib",
		"/usr/local/lib"} {
		dirs = append(dirs, s.at(d))
	}
	confs, err := filepath.Glob(s.at("/etc/ld.so.conf.d/*.conf"))
	if err != nil { // only a malformed pattern errs, and this one is constant
		return dirs
	}
	for _, conf := range confs {
		text, err := os.ReadFile(conf)
		if err != nil {
			continue // unreadable for this user, so unhelpful to the loader's cache check too
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "/") {
				dirs = append(dirs, s.at(line))
			}
		}
	}
	return dirs
}
