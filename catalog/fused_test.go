package catalog_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// No product is fused with a sum in any package that an environment is made of: it would be rounded once where other
// processors round twice, and the world would differ between machines. The compiler's own listing for arm64, which
// fuses wherever the language lets it, shows the lines; float64(a*b)+c keeps it from doing so.
func TestNoFusedMultiplyAdd(t *testing.T) {
	if !*long {
		t.Skip("no -long: it compiles the standard library for another architecture")
	}
	golang, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go command")
	}
	list, err := exec.Command(golang, "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	own := slices.DeleteFunc(strings.Fields(string(list)), func(p string) bool {
		return !strings.Contains(p, "/stoker/envs") && !strings.Contains(p, "/stoker/rng")
	})
	if len(own) < 5 {
		t.Fatalf("only %v are found", own)
	}
	build := exec.Command(golang, append([]string{"build", "-gcflags=-S"}, own...)...)
	build.Env = append(os.Environ(), "GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0")
	listing, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("go build for arm64: %v\n%s", err, listing[:min(len(listing), 2000)])
	}
	if len(listing) < 1000 {
		t.Fatalf("the compiler's listing is empty: %q", listing)
	}
	fused := regexp.MustCompile(`\(([^()]*/(?:envs|rng)/[^()]*:\d+)\)\s+FN?M(?:ADD|SUB)[SD]`)
	var lines []string
	for _, m := range fused.FindAllSubmatch(listing, -1) {
		lines = append(lines, string(m[1]))
	}
	slices.Sort(lines)
	for _, l := range slices.Compact(lines) {
		t.Errorf("%s: a product is fused with a sum; write float64(product)", l)
	}
}
