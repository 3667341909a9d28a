package farm

import (
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

// PutFiles stores files of a folder.
func PutFiles(ctx context.Context, f Farm, k Key, dir string, list []File) error {
	if err := CheckFiles(list); err != nil {
		return err
	}
	for _, file := range list {
		if err := PutFile(ctx, f, k, filepath.Join(dir, filepath.FromSlash(file.Name)), file); err != nil {
			return err
		}
	}
	return nil
}

// GetFiles writes files into a new folder, durably, and checks their sizes and hashes.
func GetFiles(ctx context.Context, f Farm, k Key, dir string, list []File) error {
	if err := CheckFiles(list); err != nil {
		return err
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
		if err := GetFile(ctx, f, k, path, file); err != nil {
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
	w, err := (durable.OS{}).Create(path)
	if err != nil {
		return err
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, h), io.LimitReader(r, file.Size+1))
	if err := errors.Join(err, w.Sync(), w.Close()); err != nil {
		return fmt.Errorf("receiving %s: %w", file.Name, err)
	}
	if sum := Hash(hex.EncodeToString(h.Sum(nil))); n != file.Size || sum != file.Hash {
		return fmt.Errorf("receiving %s: %d bytes with SHA-256 %.12s… came, want %d with %.12s…", file.Name, n, sum, file.Size, file.Hash)
	}
	return nil
}
