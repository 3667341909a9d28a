package libtorch

import (
	"errors"
	"testing"
)

func TestCompilerIsFoundOrInstalled(t *testing.T) {
	m := newMachine(t)
	o := m.options()
	_, err := o.compiler(t.Context(), quiet)
	wantError(t, err, "C++ compiler is missing", "package manager", "g++")

	installed := errors.New("E: Unable to locate package g++")
	m.programs["apt-get"] = func(c command) (string, error) {
		if c.args[0] == "update" {
			installed = nil
			return "", nil
		}
		if installed != nil {
			return installed.Error(), installed
		}
		m.programs["g++"] = func(command) (string, error) { return "g++ (Debian) 12.2.0\nCopyright\n", nil }
		return "", nil
	}
	_, err = o.compiler(t.Context(), quiet)
	wantError(t, err, "sudo apt-get install -y --no-install-recommends g++")
	if m.didRun("apt-get") {
		t.Error("installed without being root")
	}
	// Root, with package lists that have to be fetched first.
	o.sys.root = true
	got, err := o.compiler(t.Context(), quiet)
	if err != nil || got.path != "g++" || got.version != "g++ (Debian) 12.2.0" {
		t.Errorf("%+v, %v", got, err)
	}

	m.programs["ccache"] = func(command) (string, error) { return "clang 19", nil }
	m.vars["CXX"] = "ccache clang++"
	if got, err = o.compiler(t.Context(), quiet); err != nil || got.path != "ccache" || got.args[0] != "clang++" {
		t.Errorf("CXX: %+v, %v", got, err)
	}
	m.vars["CXX"] = "icc"
	_, err = o.compiler(t.Context(), quiet)
	wantError(t, err, "CXX=icc")
}

func TestPipIsFoundOrInstalled(t *testing.T) {
	m := newMachine(t)
	o := m.options()
	m.programs["pip3"] = func(command) (string, error) { return "pip 23", nil }
	m.python("python3")
	if p, err := o.pip(t.Context(), quiet); err != nil || p.name != "pip3" {
		t.Errorf("%+v, %v: python3 has no pip module here, pip3 works", p, err)
	}
	delete(m.programs, "pip3")
	m.programs["apt-get"] = func(command) (string, error) { return "", nil }
	o.sys.root = true
	_, err := o.pip(t.Context(), quiet)
	wantError(t, err, "even after installing it", "No module named pip")
}

func TestDebianIsInstalledByRootOnly(t *testing.T) {
	m := newMachine(t)
	o := m.options()
	m.programs["apt-get"] = func(command) (string, error) {
		lib := "usr/lib/x86_64-linux-gnu/"
		writeAll(t, m.sysroot, map[string]string{
			"usr/include/torch/csrc/api/include/torch/all.h":     "\n",
			"usr/include/torch/csrc/api/include/torch/version.h": versionHeader,
			lib + "libtorch_cpu.so":                              string(elfSpec{}.bytes()),
			lib + "libc10.so":                                    string(elfSpec{}.bytes()),
		})
		return "", nil
	}
	_, err := o.debian(t.Context(), quiet)
	wantError(t, err, "sudo apt-get install -y --no-install-recommends libtorch-dev libopenblas-dev")
	o.sys.root = true
	// Another release was asked for: Debian's is not installed for nothing.
	o.Release = "2.15.0"
	if _, err = o.debian(t.Context(), quiet); err == nil || m.didRun("install") {
		t.Errorf("installed though release 2.15.0 was asked for: %v", err)
	}
	o.Release = ""
	torch, err := o.debian(t.Context(), quiet)
	if err != nil || torch.Origin != FromDebian {
		t.Errorf("%+v, %v", torch, err)
	}
	// Found again, with a reference BLAS that OpenBLAS should replace.
	writeAll(t, m.sysroot, map[string]string{"usr/lib/x86_64-linux-gnu/libblas.so.3": "x"})
	m.ran = nil
	if _, err = o.debian(t.Context(), quiet); err != nil || !m.didRun("libopenblas-dev") || m.didRun("libtorch-dev") {
		t.Errorf("%v; ran %v", err, m.ran)
	}
}
