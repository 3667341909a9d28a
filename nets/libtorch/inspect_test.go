package libtorch

import (
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

func TestInspectReadsAWheelsLayout(t *testing.T) {
	m := newMachine(t)
	site := plainDir(t)
	root := torchAt(t, site)
	got := must.Get(inspect(m.system, FromPip, site))(t)
	lib, nvidia := filepath.Join(root, "lib"), filepath.Join(site, "nvidia/cu13/lib")
	if got.Root != root || got.Lib != lib || !slices.Equal(got.LibDirs, []string{lib, nvidia}) {
		t.Errorf("folders: %+v", got)
	}
	if got.Release != "2.11.0" || got.Version() != "2.11.0+cu130" || got.CUDA != "13.0" || got.Std != "c++17" ||
		!got.NewABI {
		t.Errorf("facts: %+v", got)
	}
	if !slices.Equal(got.CUDALacks, []string{"libcudnn.so.9"}) {
		t.Errorf("CUDA lacks %v, want libcudnn.so.9", got.CUDALacks)
	}
	if want := []string{root + "/include", root + "/include/torch/csrc/api/include"}; !slices.Equal(got.Include, want) {
		t.Errorf("include %v, want %v", got.Include, want)
	}
}

func TestInspectReadsAnUnpackedZip(t *testing.T) {
	m := newMachine(t)
	site := plainDir(t)
	root := torchAt(t, site)
	// The zip of pytorch.org: libtorch/ with a build-version, CUDA's libraries
	// in lib, and a header that asks for C++20.
	zip := filepath.Join(plainDir(t), "libtorch")
	must.Do(t, os.Rename(root, zip))
	must.Do(t, os.Remove(filepath.Join(zip, "version.py")))
	old := elfSpec{symbols: []string{"_ZN3c105ErrorC1ERKSs"}}
	writeAll(t, zip, map[string]string{
		"build-version":       "2.11.0+cu128\n",
		"lib/libcudart.so.13": "x",
		"lib/libcudnn.so.9":   "x",
		"lib/libc10.so":       string(old.bytes()),
		"include/torch/csrc/api/include/torch/all.h": "#if (defined(_MSVC_LANG) && _MSVC_LANG < 202002L) || \\\n " +
			"(__cplusplus < 202002L)\n",
	})
	for _, named := range []string{zip, filepath.Dir(zip)} {
		got := must.Get(inspect(m.system, FromFolder, named))(t)
		if got.Root != zip || got.CUDA != "12.8" || got.Std != "c++20" || got.NewABI || len(got.CUDALacks) != 0 {
			t.Errorf("%s: %+v", named, got)
		}
	}
}

func TestInspectReadsDebian(t *testing.T) {
	m := newMachine(t)
	lib := "usr/lib/x86_64-linux-gnu/"
	cpu := elfSpec{needed: []string{"libblas.so.3", "libgomp.so.1"}}
	writeAll(t, m.sysroot, map[string]string{
		"usr/include/torch/csrc/api/include/torch/all.h": "#if __cplusplus < 201402L\n",
		"usr/include/torch/csrc/api/include/torch/version.h": "#define TORCH_VERSION_MAJOR 1\n#define " +
			"TORCH_VERSION_MINOR 13\n#define TORCH_VERSION_PATCH 0\n",
		lib + "libtorch_cpu.so":               string(cpu.bytes()),
		lib + "libc10.so":                     string(elfSpec{}.bytes()),
		lib + "openblas-pthread/libblas.so.3": "x",
		lib + "libgomp.so.1":                  "x",
	})
	must.Do(t, os.Symlink("openblas-pthread/libblas.so.3", filepath.Join(m.sysroot, lib, "libblas.so.3")))
	got := must.Get(inspect(m.system, FromDebian, "/usr"))(t)
	// An older ask than gotch's own C++17 is raised; /usr/include is not named.
	if got.Release != "1.13.0" || got.Std != "c++17" || got.CUDA != "" || !got.NewABI || len(got.Include) != 1 {
		t.Errorf("%+v", got)
	}
	must.Do(t, got.identify(m.system))
	if got.BLAS != "openblas" {
		t.Errorf("BLAS %q, want openblas", got.BLAS)
	}
	if flags := got.linkFlags(); !slices.Equal(flags, []string{"-ltorch_cpu", "-lc10", "-lstdc++", "-lm"}) {
		t.Errorf("link flags %v: the system's folder needs no path", flags)
	}
}

func TestInspectSaysWhatDoesNotFit(t *testing.T) {
	cases := map[string]struct {
		change func(t *testing.T, site string)
		says   []string
	}{
		"no library": {func(t *testing.T, site string) { remove(t, site, "torch/lib/libtorch_cpu.so") },
			[]string{"no libtorch in", "libtorch_cpu.so is not there"}},
		"no headers": {func(t *testing.T, site string) { remove(t, site, "torch/include") },
			[]string{"without its C++ headers", "all.h"}},
		"no release": {func(t *testing.T, site string) { remove(t, site, "torch/include/torch/headeronly/version.h") },
			[]string{"names the release", "TORCH_VERSION_MAJOR"}},
		"other machine": {func(t *testing.T, site string) {
			writeAll(t, site,
				map[string]string{"torch/lib/libtorch_cpu.so": string(elfSpec{machine: elf.EM_AARCH64}.bytes())})
		}, []string{"EM_AARCH64", "EM_X86_64"}},
		"lacking library": {func(t *testing.T, site string) { remove(t, site, "nvidia") },
			[]string{"libtorch_cpu.so needs libcudart.so.13"}},
		"no ELF file": {func(t *testing.T, site string) {
			writeAll(t, site, map[string]string{"torch/lib/libtorch_cpu.so": "<html>not found</html>"})
		}, []string{"libtorch_cpu.so", "bad magic"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			site := plainDir(t)
			torchAt(t, site)
			c.change(t, site)
			_, err := inspect(newMachine(t).system, FromPip, site)
			wantError(t, err, c.says...)
		})
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	must.Do(t, os.RemoveAll(filepath.Join(dir, name)))
}

func TestParseRelease(t *testing.T) {
	for text, want := range map[string]string{"2.11.0": "2.11.0", "v2.15.0+cu132": "2.15.0",
		"1.13.0a0+git7c98e70": "1.13.0"} {
		got, err := parseRelease(text)
		if err != nil || got.String() != want {
			t.Errorf("%s: %v, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "2.11", "latest", "2.x.0"} {
		if _, err := parseRelease(text); err == nil {
			t.Errorf("%q taken for a release", text)
		}
	}
	if !sameRelease("2.11.0", "2.11.0+cpu") || sameRelease("2.11.0", "2.11.1") || sameRelease("x", "x") {
		t.Error("sameRelease compares wrongly")
	}
}
