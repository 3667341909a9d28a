package suite

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/stoker-rl/stoker/checkpoints/durable"
)

// memoDir is the folder below [Options.Runs] with the parts that [Memo] keeps, maxMemo the largest of them.
const (
	memoDir = ".suite"
	maxMemo = 1 << 28
)

// Memo returns what do returns, and keeps it below [Options.Runs], so that a suite that was stopped does no part twice.
// The key names the part and all that it depends on; what another build of the program left is not used.
func Memo[T any](o *Options, key string, do func() (T, error)) (T, error) {
	var out T
	program, err := thisProgram()
	if err != nil {
		return out, err
	}
	sum := sha256.Sum256([]byte(program + "\n" + key))
	path := filepath.Join(o.Runs, memoDir, hex.EncodeToString(sum[:16]))
	b, err := durable.ReadFile(durable.OS{}, path, maxMemo)
	switch {
	case err == nil:
		if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&out); err != nil {
			return out, fmt.Errorf("%s, which an earlier call kept: %w; remove it", path, err)
		}
		return out, nil
	case !errors.Is(err, fs.ErrNotExist):
		return out, err
	}
	if out, err = do(); err != nil {
		return out, err
	}
	var text bytes.Buffer
	if err := gob.NewEncoder(&text).Encode(out); err != nil {
		return out, fmt.Errorf("keeping %s: %w", key, err)
	}
	if err := durable.MkdirAll(durable.OS{}, filepath.Dir(path)); err != nil {
		return out, err
	}
	return out, durable.WriteFile(durable.OS{}, path, text.Bytes())
}

// thisProgram is the digest of the running program.
var thisProgram = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Close())
})
