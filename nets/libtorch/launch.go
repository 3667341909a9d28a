package libtorch

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Binary is the name of the second program, which has libtorch linked in.
const Binary = "stoker-torch"

// ErrNoBinary is wrapped by errors that mean: stoker-torch is not there.
var ErrNoBinary = errors.New("the libtorch engine is not built")

// A Launch is how to run stoker-torch in this process's place.
type Launch struct {
	Path   string
	Args   []string // Args[0] is the path
	Env    []string
	Fitted Fitted
}

// FindBinary returns the path of stoker-torch: beside the running program,
// where make cuda puts it, else on PATH.
func FindBinary() (string, error) {
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		if path := filepath.Join(filepath.Dir(self), Binary); exists(path) {
			return path, nil
		}
	}
	if path, err := exec.LookPath(Binary); err == nil {
		return filepath.Abs(path)
	}
	return "", fmt.Errorf("%w: there is no %s beside this program or on PATH; run: make cuda", ErrNoBinary, Binary)
}

// Unavailable is the error for a device or engine that needs libtorch in a
// program that cannot run it; what names what was asked for.
func Unavailable(what string, cause error) error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("%s needs libtorch, which Stoker sets up on Linux only; leave it out to train on the CPU "+
			"engine", what)
	}
	if cause == nil {
		cause = ErrNoBinary
	}
	if strings.Contains(cause.Error(), "make cuda") {
		return fmt.Errorf("%s needs libtorch: %w", what, cause)
	}
	return fmt.Errorf("%s needs libtorch: %w; run: make cuda", what, cause)
}

// FittedOf reads from a program's build information which fitted copy it was
// linked with. The go command records the folder that replaced gotch.
func FittedOf(binary string) (Fitted, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return Fitted{}, fmt.Errorf("%s: %w", binary, err)
	}
	return fittedIn(info)
}

func fittedIn(info *buildinfo.BuildInfo) (Fitted, error) {
	for _, dep := range info.Deps {
		if dep.Path != GotchModule {
			continue
		}
		if dep.Replace == nil || !filepath.IsAbs(dep.Replace.Path) {
			return Fitted{}, fmt.Errorf("it was built with gotch %s as published, not with a fitted copy; run: make cuda", dep.Version)
		}
		return ReadFitted(dep.Replace.Path)
	}
	return Fitted{}, fmt.Errorf("%w: it was built without the tag libtorch", ErrNoBinary)
}

// Prepare checks that stoker-torch and its libtorch are what make cuda left,
// and returns how to start it with the given arguments (without a program
// name) in the given environment, such as os.Environ().
func Prepare(binary string, args, env []string) (Launch, error) {
	r, err := FittedOf(binary)
	if err != nil {
		return Launch{}, err
	}
	if err := r.Check(); err != nil {
		return Launch{}, err
	}
	l := Launch{Path: binary, Args: append([]string{binary}, args...), Fitted: r}
	libraryPath := ""
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case "LD_LIBRARY_PATH":
			libraryPath = value
		case "OMP_WAIT_POLICY":
		default:
			l.Env = append(l.Env, entry)
			continue
		}
	}
	l.Env = append(l.Env, r.Torch.environment(libraryPath)...)
	if r.Torch.Origin == FromDebian && libraryPath != "" {
		l.Env = append(l.Env, "LD_LIBRARY_PATH="+libraryPath)
	}
	return l, nil
}
