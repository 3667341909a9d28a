package train

import (
	"os"
	"path/filepath"

	"github.com/stoker-rl/stoker/configs"
)

// Missing returns the usage error for a path that is not there, where want says what it should be. It names the nearest
// path beside it.
func Missing(path, want string) error {
	dir, base := filepath.Split(filepath.Clean(path))
	where := dir
	if where == "" {
		where = "."
	}
	entries, err := os.ReadDir(where)
	if err != nil {
		return Usage("there is no %s, nor a folder %s; want %s", path, filepath.Clean(where), want)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if near := configs.Nearest(base, names); near != "" {
		return Usage("there is no %s; did you mean %s? Want %s", path, filepath.Join(dir, near), want)
	}
	return Usage("there is no %s; want %s", path, want)
}
