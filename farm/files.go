package farm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/stoker-rl/stoker/checkpoints/durable"
)

// InputsKey is the key under which files lie that units name as inputs.
const InputsKey Key = "inputs"

// ReadFile describes a file in a folder.
func ReadFile(dir, name string) (File, error) {
	f := File{Name: filepath.ToSlash(name)}
	r, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return f, err
	}
	defer r.Close()
	h := sha256.New()
	f.Size, err = io.Copy(h, r)
	f.Hash = Hash(hex.EncodeToString(h.Sum(nil)))
	return f, err
}

// PutFile stores a file at path.
func PutFile(ctx context.Context, f Farm, k Key, path string, file File) error {
	r, err := os.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := f.Put(ctx, k, file, r); err != nil {
		return fmt.Errorf("%s: sending it: %w", path, err)
	}
	return nil
}

// small is the most bytes of a file that is stored with others: each that is stored costs some requests.
const small = 64 << 10

// split parts files into those that are stored by themselves, and those that are stored together in their order, with what
// these are stored as.
func split(list []File) (alone, together []File, pack File) {
	pack.Name = "the small files"
	names := ""
	for _, f := range list {
		if f.Size > small {
			alone = append(alone, f)
			continue
		}
		together = append(together, f)
		pack.Size += f.Size
		names += string(f.Hash)
	}
	pack.Hash = HashOf([]byte(names)) // of no bytes: hashes are compared file by file
	return alone, together, pack
}

// Stored are what files of a unit are stored as by [PutFiles].
func Stored(list []File) []File {
	alone, together, pack := split(list)
	if len(together) > 0 {
		alone = append(alone, pack)
	}
	return alone
}

// PutFiles stores files of a folder.
func PutFiles(ctx context.Context, f Farm, k Key, dir string, list []File) error {
	if err := CheckFiles(list); err != nil {
		return err
	}
	alone, together, pack := split(list)
	for _, file := range alone {
		if err := PutFile(ctx, f, k, filepath.Join(dir, filepath.FromSlash(file.Name)), file); err != nil {
			return err
		}
	}
	if len(together) == 0 {
		return nil
	}
	var all []byte
	for _, file := range together {
		path := filepath.Join(dir, filepath.FromSlash(file.Name))
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if int64(len(b)) != file.Size {
			return fmt.Errorf("%s: has %d bytes, had %d before", path, len(b), file.Size)
		}
		all = append(all, b...)
	}
	if err := f.Put(ctx, k, pack, bytes.NewReader(all)); err != nil {
		return fmt.Errorf("%s: sending %s: %w", dir, pack.Name, err)
	}
	return nil
}

// GetFiles writes files that [PutFiles] stored into a new folder, durably, and checks their sizes and hashes.
func GetFiles(ctx context.Context, f Farm, k Key, dir string, list []File) (err error) {
	if err := CheckFiles(list); err != nil {
		return err
	}
	_, together, pack := split(list)
	var all io.ReadCloser
	if len(together) > 0 {
		if all, err = f.Get(ctx, k, pack); err != nil {
			return err
		}
		defer all.Close()
	}
	made := map[string]bool{}
	for _, file := range list {
		path := filepath.Join(dir, filepath.FromSlash(file.Name))
		if at := filepath.Dir(path); !made[at] {
			if err := durable.MkdirAll(durable.OS{}, at); err != nil {
				return err
			}
			made[at] = true
		}
		if file.Size > small {
			err = GetFile(ctx, f, k, path, file)
		} else {
			err = receive(path, file, io.LimitReader(all, file.Size))
		}
		if err != nil {
			return err
		}
	}
	for at := range made {
		if err := (durable.OS{}).SyncDir(at); err != nil {
			return err
		}
	}
	return nil
}

// GetFile writes one file to path.
func GetFile(ctx context.Context, f Farm, k Key, path string, file File) error {
	r, err := f.Get(ctx, k, file)
	if err != nil {
		return err
	}
	defer r.Close()
	return receive(path, file, io.LimitReader(r, file.Size+1))
}

// PutBytes stores one file of a unit as [PutFiles] does, from memory; [GetBytes] reads it, and checks it.
func PutBytes(ctx context.Context, f Farm, k Key, name string, b []byte) (File, error) {
	file := File{Name: name, Hash: HashOf(b), Size: int64(len(b))}
	return file, f.Put(ctx, k, Stored([]File{file})[0], bytes.NewReader(b))
}

// GetBytes reads what [PutBytes] stored, or [PutFiles] of one file.
func GetBytes(ctx context.Context, f Farm, k Key, file File) ([]byte, error) {
	if err := CheckFiles([]File{file}); err != nil {
		return nil, err
	}
	r, err := f.Get(ctx, k, Stored([]File{file})[0])
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, file.Size+1))
	if err == nil && HashOf(b) != file.Hash {
		err = fmt.Errorf("receiving %s: it came damaged", file.Name)
	}
	return b, err
}

// receive writes what comes to path, and checks it.
func receive(path string, file File, r io.Reader) error {
	w, err := (durable.OS{}).Create(path)
	if err != nil {
		return err
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, h), r)
	if err := errors.Join(err, w.Sync(), w.Close()); err != nil {
		return fmt.Errorf("receiving %s: %w", file.Name, err)
	}
	if sum := Hash(hex.EncodeToString(h.Sum(nil))); n != file.Size || sum != file.Hash {
		return fmt.Errorf("receiving %s: %d bytes with SHA-256 %.12s… came, want %d with %.12s…", file.Name, n, sum, file.Size, file.Hash)
	}
	return nil
}
