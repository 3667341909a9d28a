package libtorch

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// DefaultRelease is the torch release that is fetched when none is asked for.
// It is the fastest of those tried on the CPU, and lacks three of gotch's 2,525
// functions, none of which Stoker calls.
const DefaultRelease = "2.11.0"

// An Origin says where a libtorch came from.
type Origin string

// Where a libtorch may come from, in the order of preference.
const (
	FromFolder Origin = "folder" // $LIBTORCH, an unpacked libtorch
	FromPython Origin = "python" // a torch package of some Python
	FromPip    Origin = "pip"    // fetched from PyPI into the cache folder
	FromDebian Origin = "debian" // Debian's libtorch-dev
)

var origins = []Origin{FromFolder, FromPython, FromPip, FromDebian}

// Options say what to look for and where to put it. The zero value looks
// everywhere, in the order of the Origin constants.
type Options struct {
	// Root is the checkout: the folder that holds Stoker's go.mod.
	Root string
	// Cache holds the fetched libtorch and the fitted gotch;
	// stoker under os.UserCacheDir when empty.
	Cache string
	// Folder is an unpacked libtorch, as named by $LIBTORCH.
	Folder string
	// Release is the torch release wanted, such as "2.15.0"; any that fits
	// when empty, and DefaultRelease where one must be fetched.
	Release string
	// From, when set, is the only origin looked at.
	From Origin
	// CUDA says whether the CUDA wheels are fetched: "auto" (or empty) where
	// there is an NVIDIA device, "yes", "no".
	CUDA string
	// Refit does everything again, though a fitted copy is at hand.
	Refit bool

	sys *system
}

// FromEnvironment reads $LIBTORCH (a folder) and $STOKER_TORCH (a release).
func FromEnvironment(root string) Options {
	return Options{Root: root, Folder: os.Getenv("LIBTORCH"), Release: os.Getenv("STOKER_TORCH")}
}

// filled puts the defaults in and refuses what cannot be meant.
func (o Options) filled() (_ Options, err error) {
	if o.sys == nil {
		o.sys = host()
	}
	if o.Cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return o, fmt.Errorf("no cache folder for libtorch: %w; set HOME or XDG_CACHE_HOME", err)
		}
		o.Cache = filepath.Join(dir, "stoker")
	}
	for _, path := range []*string{&o.Cache, &o.Root} {
		if *path, err = filepath.Abs(*path); err != nil {
			return o, err
		}
	}
	if o.CUDA == "" {
		o.CUDA = "auto"
	}
	if !slices.Contains([]string{"auto", "yes", "no"}, o.CUDA) {
		return o, fmt.Errorf("cuda: %q is none of auto, yes, no", o.CUDA)
	}
	if o.From != "" && !slices.Contains(origins, o.From) {
		return o, fmt.Errorf("from: %q is none of %s", o.From, joinOrigins())
	}
	if o.From == FromFolder && o.Folder == "" {
		return o, fmt.Errorf("from: folder needs LIBTORCH set to an unpacked libtorch")
	}
	if o.Release != "" {
		if _, err := parseRelease(o.Release); err != nil {
			return o, fmt.Errorf("torch release: %w", err)
		}
	}
	return o, nil
}

func joinOrigins() string {
	names := make([]string, len(origins))
	for i, o := range origins {
		names[i] = string(o)
	}
	return strings.Join(names, ", ")
}

// wants says whether this origin is to be looked at.
func (o Options) wants(from Origin) bool { return o.From == "" || o.From == from }

// wheels says whether the CUDA wheels are wanted.
func (o Options) wheels() bool {
	return o.CUDA == "yes" || o.CUDA == "auto" && o.sys.gpu()
}

// torches is where fetched libtorches are kept, fits where fitted copies are.
func (o Options) torches() string { return filepath.Join(o.Cache, "libtorch") }
func (o Options) fits() string    { return filepath.Join(o.Cache, "gotch") }

// A release is a torch release number without its build suffix.
type release struct{ major, minor, patch int }

var releaseForm = regexp.MustCompile(`^v?(\d+)\.(\d+)\.(\d+)(?:[-+.a-z].*)?$`)

// parseRelease reads "2.11.0", with or without a suffix such as "+cu130".
func parseRelease(text string) (release, error) {
	m := releaseForm.FindStringSubmatch(text)
	if m == nil {
		return release{}, fmt.Errorf("%q is no release number; one looks like %s", text, DefaultRelease)
	}
	var r release
	for i, p := range []*int{&r.major, &r.minor, &r.patch} {
		n, err := strconv.Atoi(m[i+1])
		if err != nil {
			return release{}, fmt.Errorf("%q is no release number: %w", text, err)
		}
		*p = n
	}
	return r, nil
}

func (r release) String() string { return fmt.Sprintf("%d.%d.%d", r.major, r.minor, r.patch) }

// sameRelease compares two releases and ignores their build suffixes.
func sameRelease(a, b string) bool {
	ra, errA := parseRelease(a)
	rb, errB := parseRelease(b)
	return errA == nil && errB == nil && ra == rb
}
