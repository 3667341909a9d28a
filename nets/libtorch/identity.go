package libtorch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

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
