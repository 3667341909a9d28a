package libtorch

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

func TestRequirementsOfATorchWheel(t *testing.T) {
	// As the wheels of 2.11.0 and of 2.1.0 write them.
	old := "Requires-Dist: nvidia-cuda-runtime-cu12 (==12.1.105) ; platform_system == \"Linux\" and " +
		"platform_machine == \"x86_64\"\n" +
		"Requires-Dist: nvidia-cuda-cupti-cu12==12.1.105; platform_system == \"Linux\"\n" +
		"Requires-Dist: nvidia-nccl-cu12 ==2.18.1 ; platform_system == \"Linux\"\n" +
		"Requires-Dist: sympy\n"
	for _, c := range []struct {
		metadata string
		all      bool
		want     []string
	}{
		{torchMetadata, false, []string{"cuda-toolkit[cudart,cupti]==13.0.2"}},
		{torchMetadata, true, []string{"cuda-toolkit[cublas,cudart,cufft,cupti]==13.0.2",
			"nvidia-cudnn-cu13==9.19.0.56"}},
		{old, false, []string{"nvidia-cuda-runtime-cu12==12.1.105", "nvidia-cuda-cupti-cu12==12.1.105"}},
		{old, true, []string{"nvidia-cuda-runtime-cu12==12.1.105", "nvidia-cuda-cupti-cu12==12.1.105",
			"nvidia-nccl-cu12==2.18.1"}},
		{"Requires-Dist: sympy\nRequires-Dist: cuda-toolkit[cublas]==13; x\n", false, nil},
	} {
		if got := cudaRequirements(c.metadata, c.all); !slices.Equal(got, c.want) {
			t.Errorf("all %v: %q, want %q", c.all, got, c.want)
		}
	}
}

func TestPipTagsStopAtTheCLibrary(t *testing.T) {
	line := strings.Join(pipTags("312", "arm64", 2, 28), " ")
	for _, want := range []string{"--python-version 312", "--abi cp312", "manylinux_2_28_aarch64",
		"manylinux_2_17_aarch64", "manylinux2014_aarch64", "--only-binary=:all:"} {
		if !strings.Contains(line, want) {
			t.Errorf("%q lacks %q", line, want)
		}
	}
	if strings.Contains(line, "manylinux_2_29_") {
		t.Error("takes wheels that this machine's C library is too old for")
	}
}

func TestWantedFilesOfWheels(t *testing.T) {
	for name, want := range map[string]bool{
		"torch/lib/libtorch_cpu.so":             true,
		"torch/lib/libgomp.so.1":                true,
		"torch.libs/libopenblasp-r0.so":         true,
		"torch/include/ATen/ATen.h":             true,
		"torch/version.py":                      true,
		"torch-2.11.0.dist-info/METADATA":       true,
		"torch-2.11.0.dist-info/licenses/a.txt": true,
		"nvidia/cu13/lib/libcudart.so.13":       true,
		"nvidia/cuda_runtime/include/cuda.h":    true,
		"torch/lib/libtorch_python.so":          false,
		"torch/lib/libshm_windows/x.h":          false,
		"torch/nn/modules/linear.py":            false,
		"torch/bin/protoc":                      false,
		"torch/include/":                        false,
		"nvidia/cu13/lib/libcudart_static.a":    false,
		"torch-2.11.0.dist-info/RECORD":         false,
		"setup.py":                              false,
	} {
		if got := wanted(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestUnpackRefusesWhatIsNoWheel(t *testing.T) {
	dir := plainDir(t)
	path := filepath.Join(dir, "a.whl")
	must.Do(t, os.WriteFile(path, []byte("<html>"), 0o644))
	_, err := unpack(path, filepath.Join(dir, "out"))
	wantError(t, err, "a.whl")
	writeWheel(t, path, "x", "", map[string]string{"torch/lib/a.so": "x"})
	_, err = unpack(path, filepath.Join(dir, "out"))
	wantError(t, err, "no METADATA")
	writeWheel(t, path, "x", "Name: x\n", map[string]string{"torch/include/../../../escaped.h": "x"})
	_, err = unpack(path, filepath.Join(dir, "out"))
	wantError(t, err, "leads out of the archive")
	if exists(filepath.Join(dir, "escaped.h")) {
		t.Error("a file left the folder")
	}
}

// pypi makes pip "download" the fixture's wheels.
func (m *machine) pypi(fail func(c command) error) {
	m.programs["python3"] = func(c command) (string, error) {
		switch {
		case c.args[0] == "-c":
			return "/nowhere\n", nil
		case slices.Contains(c.args, "--version"):
			return "pip 23.2.1", nil
		}
		if fail != nil {
			if err := fail(c); err != nil {
				return "ERROR: " + err.Error(), errors.New("exit status 1")
			}
		}
		dir := c.args[slices.Index(c.args, "-d")+1]
		for _, want := range c.args {
			switch {
			case strings.HasPrefix(want, "torch=="):
				release := strings.TrimPrefix(want, "torch==")
				writeWheel(m.t, filepath.Join(dir, "torch-"+release+".whl"), "torch-"+release, torchMetadata,
					torchFiles())
			case strings.HasPrefix(want, "cuda-toolkit["):
				writeWheel(m.t, filepath.Join(dir, "nvidia_cuda_runtime-13.whl"), "nvidia_cuda_runtime-13",
					"Name: x\n", nvidiaFiles)
			case strings.HasPrefix(want, "nvidia-cudnn"):
				writeWheel(m.t, filepath.Join(dir, "nvidia_cudnn-9.whl"), "nvidia_cudnn-9", "Name: y\n",
					map[string]string{"nvidia/cu13/lib/libcudnn.so.9": "x"})
			}
		}
		return "", nil
	}
}

func quiet(string) {}

func leftovers(t *testing.T, dir string) []string {
	t.Helper()
	left := must.Get(filepath.Glob(filepath.Join(dir, ".work-*")))(t)
	return left
}

func TestFetchUnpacksIntoTheCache(t *testing.T) {
	m := newMachine(t)
	m.pypi(nil)
	o := m.options()
	torch, err := o.fetchTorch(t.Context(), quiet)
	must.Do(t, err)
	if torch.Release != "2.11.0" || !strings.HasPrefix(torch.Root, o.torches()) || torch.Origin != FromPip {
		t.Errorf("%+v", torch)
	}
	if m.didRun("nvidia-cudnn") {
		t.Error("fetched CUDA's wheels where there is no GPU")
	}
	if left := leftovers(t, o.torches()); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	all := o.fetched()
	if len(all) != 1 || len(all[0].Wheels) != 2 || all[0].CUDA {
		t.Fatalf("note: %+v", all)
	}
	// A GPU turns up: the same folder is completed.
	m.hasGPU = true
	torch, err = o.completeCUDA(t.Context(), torch, quiet)
	if err != nil || len(torch.CUDALacks) != 0 {
		t.Fatalf("completing: %v, lacks %v", err, torch.CUDALacks)
	}
	if all = o.fetched(); len(all) != 1 || !all[0].CUDA || len(all[0].Wheels) != 3 {
		t.Errorf("note after completing: %+v", all)
	}
	if _, err = o.completeCUDA(t.Context(), Torch{Root: "/elsewhere"}, quiet); err == nil {
		t.Error("completed a libtorch that is not ours")
	}
}

func TestFetchWithAGPUTakesAllOfCUDA(t *testing.T) {
	m := newMachine(t)
	m.pypi(nil)
	m.hasGPU = true
	o := m.options()
	torch, err := o.fetchTorch(t.Context(), quiet)
	if err != nil || len(torch.CUDALacks) != 0 {
		t.Fatalf("%v, lacks %v", err, torch.CUDALacks)
	}
	m.space = diskForTorch + 1
	_, err = m.options().fetchTorch(t.Context(), quiet)
	wantError(t, err, "GB free", "9.0 GB are needed")
}

func TestFetchTriesOtherPythonTags(t *testing.T) {
	m := newMachine(t)
	m.pypi(func(c command) error {
		if slices.Contains(c.args, "cp312") {
			return errors.New("No matching distribution found for torch==1.13.1")
		}
		return nil
	})
	o := m.options()
	must.Get(o.fetchTorch(t.Context(), quiet))(t)
	if !m.didRun("cp311") {
		t.Error("no other Python's wheels were asked for")
	}
}

func TestFetchFailsCleanly(t *testing.T) {
	cases := map[string]struct {
		set  func(m *machine)
		says []string
	}{
		"no network": {func(m *machine) {
			m.pypi(func(command) error { return errors.New("Could not resolve host") })
		}, []string{"Could not resolve host", "fetching torch 2.11.0"}},
		"no such release": {func(m *machine) {
			m.pypi(func(command) error { return errors.New("No matching distribution found for torch==2.11.0") })
		}, []string{"No matching distribution"}},
		"CUDA's runtime fails": {func(m *machine) {
			m.pypi(func(c command) error {
				if slices.ContainsFunc(c.args, func(a string) bool { return strings.HasPrefix(a, "cuda-toolkit") }) {
					return errors.New("connection reset")
				}
				return nil
			})
		}, []string{"connection reset"}},
		"full disk": {func(m *machine) { m.pypi(nil); m.space = 1e9 },
			[]string{"1.0 GB free", "2.5 GB are needed", "XDG_CACHE_HOME"}},
		"no pip": {func(m *machine) { m.python("python3") },
			[]string{"no pip", "python3-pip"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			c.set(m)
			o := m.options()
			_, err := o.fetchTorch(t.Context(), quiet)
			wantError(t, err, c.says...)
			if left := leftovers(t, o.torches()); len(left) > 0 || len(o.fetched()) > 0 {
				t.Errorf("left behind: %v, %v", left, o.fetched())
			}
		})
	}
}

func TestFetchReplacesADamagedFolder(t *testing.T) {
	m := newMachine(t)
	m.pypi(nil)
	o := m.options()
	torch, err := o.fetchTorch(t.Context(), quiet)
	must.Do(t, err)
	must.Do(t, os.Remove(filepath.Join(torch.Lib, "libtorch_cpu.so")))
	if torch, err = o.fetchTorch(t.Context(), quiet); err != nil {
		t.Fatal(err)
	}
	if !exists(filepath.Join(torch.Lib, "libtorch_cpu.so")) {
		t.Error("still damaged")
	}
}
