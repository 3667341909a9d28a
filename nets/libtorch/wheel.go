package libtorch

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
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
