package libtorch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Torch describes one libtorch: where it lies, what it is, and what must be
// told to a compiler that builds against it.
type Torch struct {
	Origin Origin `json:"origin"`
	// Root is the folder that was looked at; Lib holds libtorch_cpu.so.
	Root string `json:"root"`
	Lib  string `json:"lib"`
	// Include are the folders for -I. The system's own /usr/include is left
	// out: naming it would put it before the compiler's headers.
	Include []string `json:"include"`
	// LibDirs is Lib and the folders that its libraries find others in.
	LibDirs []string `json:"lib_dirs"`
	Release string   `json:"release"`         // as the headers say: 2.11.0
	Build   string   `json:"build,omitempty"` // as the package says: 2.11.0+cu130
	// NewABI tells std::string as libstdc++ has it since 2015.
	NewABI bool `json:"new_abi"`
	// Std is the C++ standard that the headers ask for: c++17, c++20.
	Std string `json:"std"`
	// CUDA is the CUDA release it was built for, empty for a CPU build.
	CUDA string `json:"cuda,omitempty"`
	// CUDALacks are the libraries that its CUDA half needs and that are not
	// on this machine.
	CUDALacks []string `json:"cuda_lacks,omitempty"`
	// BLAS is known after Identify: mkl, openblas, reference, or unknown.
	BLAS string `json:"blas,omitempty"`
	// Files and Hash are known after Identify.
	Files []File `json:"files,omitempty"`
	Hash  string `json:"hash,omitempty"`
}

var (
	versionHeaders = []string{"torch/headeronly/version.h", "torch/csrc/api/include/torch/version.h"}
	versionLine    = regexp.MustCompile(`(?m)^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) (\d+)`)
	pythonVersion  = regexp.MustCompile(`(?m)^__version__ = '([^']+)'`)
	pythonCUDA     = regexp.MustCompile(`(?m)^cuda(?:: [^=]+)? = '([^']+)'`)
	buildCUDA      = regexp.MustCompile(`\+cu(\d+)(\d)$`)
	neededStd      = regexp.MustCompile(`__cplusplus < (\d{6})L`)
)

// inspect reads what lies in a folder. Its error says what is not there, or
// what about it does not fit this machine.
func inspect(s *system, from Origin, root string) (Torch, error) {
	t := Torch{Origin: from, Root: root}
	include, err := t.layout(s)
	if err != nil {
		return t, err
	}
	if t.Release, err = headerRelease(include); err != nil {
		return t, err
	}
	if t.Std, err = headerStandard(include); err != nil {
		return t, err
	}
	cpu, err := readLibrary(filepath.Join(t.Lib, "libtorch_cpu.so"))
	if err != nil {
		return t, err
	}
	if want := machineOf(s.goarch); cpu.machine != want {
		return t, fmt.Errorf("%s is built for %v, this machine is %v", cpu.path, cpu.machine, want)
	}
	if lost := s.unresolved(cpu); len(lost) > 0 {
		return t, fmt.Errorf("%s needs %s, which no library path leads to", cpu.path, strings.Join(lost, ", "))
	}
	t.LibDirs = []string{t.Lib}
	for _, dir := range cpu.rpath {
		if dir != t.Lib && isDir(dir) {
			t.LibDirs = append(t.LibDirs, dir)
		}
	}
	if t.NewABI, err = newStrings(filepath.Join(t.Lib, "libc10.so")); err != nil {
		return t, err
	}
	t.readPackage()
	return t, t.readCUDA(s)
}

// layout finds the headers and libraries below Root, in any of the shapes that
// a libtorch comes in, and returns the folder of the headers.
func (t *Torch) layout(s *system) (include string, err error) {
	if t.Origin == FromDebian {
		include, t.Lib = s.at("/usr/include"), s.at("/usr/lib/"+multiarch(s.goarch))
		t.Include = []string{filepath.Join(include, "torch/csrc/api/include")}
	} else {
		for _, sub := range []string{"", "torch", "libtorch"} {
			root := filepath.Join(t.Root, sub)
			if exists(filepath.Join(root, "lib", "libtorch_cpu.so")) {
				t.Root = root
				break
			}
		}
		include, t.Lib = filepath.Join(t.Root, "include"), filepath.Join(t.Root, "lib")
		t.Include = []string{include, filepath.Join(include, "torch/csrc/api/include")}
	}
	for _, name := range []string{"libtorch_cpu.so", "libc10.so"} {
		if !exists(filepath.Join(t.Lib, name)) {
			return "", fmt.Errorf("no libtorch in %s: %s is not there", t.Root, filepath.Join(t.Lib, name))
		}
	}
	if api := filepath.Join(include, "torch/csrc/api/include/torch/all.h"); !exists(api) {
		return "", fmt.Errorf("libtorch in %s comes without its C++ headers: %s is not there", t.Root, api)
	}
	return include, nil
}

func headerRelease(include string) (string, error) {
	for _, name := range versionHeaders {
		text, err := os.ReadFile(filepath.Join(include, name))
		if err != nil {
			continue // the header moved between releases
		}
		part := map[string]int{}
		for _, m := range versionLine.FindAllStringSubmatch(string(text), -1) {
			if part[m[1]], err = strconv.Atoi(m[2]); err != nil {
				return "", fmt.Errorf("%s: %w", filepath.Join(include, name), err)
			}
		}
		if len(part) == 3 {
			return release{part["MAJOR"], part["MINOR"], part["PATCH"]}.String(), nil
		}
	}
	return "", fmt.Errorf("no header under %s names the release (looked for TORCH_VERSION_MAJOR in %s)",
		include, strings.Join(versionHeaders, ", "))
}

// headerStandard reads the check at the top of the headers. gotch's own C++
// wants C++17, so an older ask is raised to that.
func headerStandard(include string) (string, error) {
	path := filepath.Join(include, "torch/csrc/api/include/torch/all.h")
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	std := 17
	for _, m := range neededStd.FindAllStringSubmatch(string(text), -1) {
		year, err := strconv.Atoi(m[1][2:4])
		if err != nil {
			return "", fmt.Errorf("%s: C++ standard %q: %w", path, m[1], err)
		}
		std = max(std, year)
	}
	return fmt.Sprintf("c++%d", std), nil
}

// readPackage takes the full version from a Python package's version.py or
// from the build-version file of the zip on pytorch.org; neither is required.
func (t *Torch) readPackage() {
	if text, err := os.ReadFile(filepath.Join(t.Root, "version.py")); err == nil {
		if m := pythonVersion.FindSubmatch(text); m != nil {
			t.Build = string(m[1])
		}
		if m := pythonCUDA.FindSubmatch(text); m != nil {
			t.CUDA = string(m[1])
		}
	} else if text, err := os.ReadFile(filepath.Join(t.Root, "build-version")); err == nil {
		t.Build = strings.TrimSpace(string(text))
	}
	if m := buildCUDA.FindStringSubmatch(t.Build); t.CUDA == "" && m != nil {
		t.CUDA = m[1] + "." + m[2]
	}
}

// readCUDA checks that the CUDA half is there, and what it would still need.
func (t *Torch) readCUDA(s *system) error {
	path := filepath.Join(t.Lib, "libtorch_cuda.so")
	if !exists(path) {
		t.CUDA = ""
		return nil
	}
	lib, err := readLibrary(path)
	if err != nil {
		return err
	}
	if t.CUDA == "" {
		t.CUDA = "unknown"
		for _, name := range lib.needed {
			if major, ok := strings.CutPrefix(name, "libcudart.so."); ok {
				t.CUDA = major
			}
		}
	}
	// Libraries of its own folder find each other once it is loaded.
	t.CUDALacks = s.unresolved(lib)
	return nil
}

// Version is the release with the build suffix where there is one.
func (t Torch) Version() string {
	if t.Build != "" {
		return t.Build
	}
	return t.Release
}

// A File is one of the libraries that make a libtorch's identity. Size and
// time tell cheaply that nothing changed; where they differ, the hash decides.
type File struct {
	Name   string    `json:"name"` // below Torch.Lib
	Size   int64     `json:"size"`
	Time   time.Time `json:"time"`
	SHA256 string    `json:"sha256"`
}

// identityFiles are hashed where they are there. Headers are not: they decide
// how the bindings are compiled, the libraries what is loaded.
var identityFiles = []string{"libc10.so", "libtorch_cpu.so", "libc10_cuda.so", "libtorch_cuda.so"}

// identify hashes the libraries and, on the way, learns which BLAS is inside.
func (t *Torch) identify(s *system) error {
	t.Files = nil
	marks := blasMarks{}
	for _, name := range identityFiles {
		path := filepath.Join(t.Lib, name)
		st, err := os.Stat(path)
		if os.IsNotExist(err) && strings.Contains(name, "cuda") {
			continue
		}
		if err != nil {
			return fmt.Errorf("libtorch's identity: %w", err)
		}
		scan := io.Discard
		if name == "libtorch_cpu.so" {
			scan = &marks
		}
		sum, err := hashFile(path, scan)
		if err != nil {
			return fmt.Errorf("libtorch's identity: %w", err)
		}
		t.Files = append(t.Files, File{Name: name, Size: st.Size(), Time: st.ModTime().UTC(), SHA256: sum})
	}
	t.Hash = hashOf(t.Files)
	cpu, err := readLibrary(filepath.Join(t.Lib, "libtorch_cpu.so"))
	if err != nil {
		return err
	}
	t.BLAS = blasOf(s, cpu, marks)
	return nil
}

func hashOf(files []File) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%s %s\n", f.Name, f.SHA256)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func hashFile(path string, also io.Writer) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.CopyBuffer(io.MultiWriter(h, also), f, make([]byte, 1<<20)); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// unchanged compares the recorded libraries with those on disk. A nil error
// means the same bytes; the error says which file is gone or differs.
func (t Torch) unchanged() error {
	if len(t.Files) == 0 {
		return fmt.Errorf("the record of libtorch in %s names no files", t.Lib)
	}
	for _, f := range t.Files {
		path := filepath.Join(t.Lib, f.Name)
		st, err := os.Stat(path)
		if os.IsNotExist(err) {
			return fmt.Errorf("%s is gone", path)
		}
		if err != nil {
			return err
		}
		if st.Size() == f.Size && st.ModTime().Equal(f.Time) {
			continue
		}
		sum, err := hashFile(path, io.Discard)
		if err != nil {
			return err
		}
		if sum != f.SHA256 {
			return fmt.Errorf("%s is another file than the one Stoker was built against (sha256 %.12s, was %.12s)",
				path, sum, f.SHA256)
		}
	}
	return nil
}

// blasMarks looks for the names of BLAS libraries in bytes that pass by.
// PyPI's wheels hold theirs inside, so that no list of needed libraries says.
type blasMarks struct {
	tail          []byte
	mkl, openblas bool
}

var (
	mklMark      = []byte("Math Kernel Library")
	openblasMark = []byte("OpenBLAS")
)

func (m *blasMarks) Write(p []byte) (int, error) {
	// The tail joins a name that two writes cut in half.
	joint := append(m.tail, p[:min(len(p), len(mklMark))]...)
	m.mkl = m.mkl || bytes.Contains(joint, mklMark) || bytes.Contains(p, mklMark)
	m.openblas = m.openblas || bytes.Contains(joint, openblasMark) || bytes.Contains(p, openblasMark)
	m.tail = append(m.tail[:0], p[max(0, len(p)-len(mklMark)):]...)
	return len(p), nil
}

// blasOf names the BLAS that libtorch_cpu.so multiplies with: by the library
// it needs, else by what is inside it.
func blasOf(s *system, cpu library, inside blasMarks) string {
	for _, name := range cpu.needed {
		switch {
		case strings.HasPrefix(name, "libmkl"):
			return "mkl"
		case strings.HasPrefix(name, "libopenblas"):
			return "openblas"
		case strings.HasPrefix(name, "libblas.so"):
			return blasBehind(s, name)
		}
	}
	switch {
	case inside.mkl:
		return "mkl"
	case inside.openblas:
		return "openblas"
	}
	return "unknown"
}

// blasBehind follows Debian's alternatives from libblas.so.3 to a real one.
func blasBehind(s *system, name string) string {
	for _, dir := range s.loaderDirs() {
		path, err := filepath.EvalSymlinks(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		switch {
		case strings.Contains(path, "openblas"):
			return "openblas"
		case strings.Contains(path, "mkl"):
			return "mkl"
		case strings.Contains(path, "/blis"):
			return "blis"
		}
		return "reference"
	}
	return "unknown"
}
