package libtorch

import (
	"archive/zip"
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// elfSpec is a shared library with nothing in it but what this package reads.
type elfSpec struct {
	machine elf.Machine // x86-64 when zero
	needed  []string
	rpath   string
	symbols []string
	payload string // bytes at the end of the file
}

// bytes writes an ELF64 file with .dynstr, .dynsym and .dynamic sections; the
// layout is that of the System V ABI, figures 4-3 (header) and 4-8 (sections).
func (s elfSpec) bytes() []byte {
	if s.machine == 0 {
		s.machine = elf.EM_X86_64
	}
	strtab := []byte{0}
	add := func(name string) uint32 {
		at := len(strtab)
		strtab = append(append(strtab, name...), 0)
		return uint32(at)
	}
	var dynamic, dynsym bytes.Buffer
	put := func(b *bytes.Buffer, v any) {
		if err := binary.Write(b, binary.LittleEndian, v); err != nil {
			panic(err) // fixed-size values into memory
		}
	}
	for _, n := range s.needed {
		put(&dynamic, elf.Dyn64{Tag: int64(elf.DT_NEEDED), Val: uint64(add(n))})
	}
	if s.rpath != "" {
		put(&dynamic, elf.Dyn64{Tag: int64(elf.DT_RPATH), Val: uint64(add(s.rpath))})
	}
	put(&dynamic, elf.Dyn64{})
	put(&dynsym, elf.Sym64{})
	for _, n := range s.symbols {
		put(&dynsym, elf.Sym64{Name: add(n), Info: elf.ST_INFO(elf.STB_GLOBAL, elf.STT_FUNC), Shndx: 1, Value: 1})
	}
	names := "\x00.dynstr\x00.dynsym\x00.dynamic\x00.shstrtab\x00"
	parts := [][]byte{strtab, dynsym.Bytes(), dynamic.Bytes(), []byte(names)}
	const head, section = 64, 64
	at := uint64(head)
	headers := []elf.Section64{{}}
	for i, kind := range []elf.SectionType{elf.SHT_STRTAB, elf.SHT_DYNSYM, elf.SHT_DYNAMIC, elf.SHT_STRTAB} {
		h := elf.Section64{
			Name: uint32(strings.Index(names, []string{".dynstr", ".dynsym", ".dynamic", ".shstrtab"}[i])),
			Type: uint32(kind), Off: at, Size: uint64(len(parts[i])),
		}
		if kind == elf.SHT_DYNSYM || kind == elf.SHT_DYNAMIC {
			h.Link, h.Entsize = 1, 24
			if kind == elf.SHT_DYNAMIC {
				h.Entsize = 16
			}
		}
		headers = append(headers, h)
		at += h.Size
	}
	var out bytes.Buffer
	h := elf.Header64{
		Type: uint16(elf.ET_DYN), Machine: uint16(s.machine), Version: 1, Shoff: at,
		Ehsize: head, Shentsize: section, Shnum: uint16(len(headers)), Shstrndx: 4,
	}
	copy(h.Ident[:], "\x7fELF\x02\x01\x01")
	put(&out, h)
	for _, p := range parts {
		out.Write(p)
	}
	put(&out, headers)
	out.WriteString(s.payload)
	return out.Bytes()
}

func writeAll(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

const versionHeader = "#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 11\n\n#define TORCH_VERSION_PATCH 0\n"

// torchFiles are a libtorch as a wheel holds it, below "torch/".
func torchFiles() map[string]string {
	c10 := elfSpec{symbols: []string{"_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"}}
	cpu := elfSpec{
		needed:  []string{"libc10.so", "libcudart.so.13"},
		rpath:   "$ORIGIN/../../nvidia/cu13/lib:$ORIGIN/../../nvidia/none/lib:$ORIGIN",
		payload: "… Intel(R) oneAPI Math Kernel Library Version …",
	}
	cuda := elfSpec{needed: []string{"libtorch_cpu.so", "libcudart.so.13", "libcudnn.so.9"}, rpath: cpu.rpath}
	return map[string]string{
		"torch/lib/libc10.so":         string(c10.bytes()),
		"torch/lib/libtorch_cpu.so":   string(cpu.bytes()),
		"torch/lib/libtorch_cuda.so":  string(cuda.bytes()),
		"torch/include/torch/version": "",
		"torch/version.py": "__version__ = '2.11.0+cu130'\ncuda: Optional[str] " +
			"= '13.0'\n",
		"torch/include/torch/headeronly/version.h":             versionHeader,
		"torch/include/torch/csrc/api/include/torch/all.h":     "#if !defined(_MSC_VER) && __cplusplus < 201703L\n",
		"torch/include/torch/csrc/api/include/torch/version.h": "#include <torch/headeronly/version.h>\n",
	}
}

var nvidiaFiles = map[string]string{
	"nvidia/cu13/lib/libcudart.so.13": "x",
	"nvidia/cu13/include/cuda.h":      "x",
}

const torchMetadata = `Metadata-Version: 2.4
Name: torch
Version: 2.11.0
Requires-Dist: filelock
Requires-Dist: cuda-toolkit[cublas,cudart,cufft,cupti]==13.0.2; platform_system == "Linux"
Requires-Dist: nvidia-cudnn-cu13==9.19.0.56; platform_system == "Linux"
Requires-Dist: triton==3.6.0; platform_system == "Linux"
Requires-Dist: nvidia-extra==1; extra == "more"

Requires-Dist: nvidia-in-the-description==1
`

// writeWheel makes a wheel, a zip with a METADATA.
func writeWheel(t *testing.T, path, dist, metadata string, files map[string]string) {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	all := map[string]string{dist + ".dist-info/METADATA": metadata, dist + ".dist-info/LICENSE": "free"}
	for name, text := range files {
		all[name] = text
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text := all[name]
		w := must.Get(z.Create(name))(t)
		must.Get(w.Write([]byte(text)))(t)
	}
	must.Do(t, z.Close())
	must.Do(t, os.WriteFile(path, b.Bytes(), 0o644))
}

// machine is a made-up system: programs are functions, folders lie in a
// temporary directory.
type machine struct {
	*system
	t        *testing.T
	vars     map[string]string
	programs map[string]func(c command) (string, error)
	ran      []string
	space    uint64
	hasGPU   bool
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, vars: map[string]string{}, programs: map[string]func(command) (string, error){}, space: 1 << 40}
	m.system = &system{
		goos: "linux", goarch: "amd64", sysroot: plainDir(t),
		env: func(name string) string { return m.vars[name] },
		look: func(name string) (string, error) {
			if _, ok := m.programs[name]; ok {
				return name, nil
			}
			return "", errors.New("not on PATH")
		},
		run: func(ctx context.Context, c command) (string, error) {
			m.ran = append(m.ran, c.name+" "+strings.Join(c.args, " "))
			if err := ctx.Err(); err != nil {
				return "", err
			}
			f, ok := m.programs[c.name]
			if !ok { // a program that was just built
				f, ok = m.programs[filepath.Base(c.name)]
			}
			if !ok {
				return "", &commandError{line: c.String(), err: errors.New("no such program")}
			}
			out, err := f(c)
			if err != nil {
				return out, &commandError{line: c.String(), output: out, err: err}
			}
			return out, nil
		},
		free:  func(string) (uint64, error) { return m.space, nil },
		gpu:   func() bool { return m.hasGPU },
		glibc: func(context.Context) (int, int) { return 2, 28 },
	}
	return m
}

func (m *machine) options() Options {
	dir := plainDir(m.t)
	o, err := Options{Root: filepath.Join(dir, "checkout"), Cache: filepath.Join(dir, "cache"), sys: m.system}.filled()
	if err != nil {
		m.t.Fatal(err)
	}
	return o
}

// didRun says whether a command with this in its line was run.
func (m *machine) didRun(part string) bool {
	return slices.ContainsFunc(m.ran, func(line string) bool { return strings.Contains(line, part) })
}

// torchAt puts a libtorch with its nvidia folder into dir.
func torchAt(t *testing.T, dir string) string {
	t.Helper()
	writeAll(t, dir, torchFiles())
	writeAll(t, dir, nvidiaFiles)
	return filepath.Join(dir, "torch")
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that says %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not say %q", err, p)
		}
	}
}

// plainDir is a folder for a test whose path has no character that cgo refuses to pass to a compiler: a space, say, where
// the folder for temporary files has one.
func plainDir(t *testing.T) string {
	t.Helper()
	for _, parent := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		if strings.ContainsAny(parent, " '\"") {
			continue
		}
		dir, err := os.MkdirTemp(parent, "libtorch")
		if err != nil {
			continue
		}
		t.Cleanup(func() {
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		})
		return dir
	}
	t.Skipf("no folder for temporary files without a space: %s", os.TempDir())
	return ""
}
