package checkpoints

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/safetensors"
)

// Writer builds one checkpoint under a temporary name, which no reader accepts; [Writer.Commit] renames it. After an
// error every method returns that error, and [Writer.Abort] removes the files:
//
//	w, err := store.Create(name, header)
//	if err != nil { … }
//	defer w.Abort()
//	w.Tensors(checkpoints.WeightsFile, nil, tensors...)
//	c, err := w.Commit()
type Writer struct {
	fsys      durable.FS
	dir, temp string
	m         manifest
	base      *Checkpoint
	store     *Store
	buf       *bufio.Writer
	err       error
	done      bool
}

var errDone = errors.New("the checkpoint is committed or aborted already")

// Create starts a checkpoint in the new folder dir, whose parent must exist. Checkpoints of a run are made by
// [Store.Create] instead.
func Create(fsys durable.FS, dir string, h Header) (*Writer, error) {
	if _, err := fsys.Lstat(dir); err == nil {
		return nil, fmt.Errorf("checkpoint %s: exists already", dir)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return create(fsys, dir, h)
}

func create(fsys durable.FS, dir string, h Header) (*Writer, error) {
	if err := h.validate(); err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", dir, err)
	}
	w := &Writer{
		fsys: fsys,
		dir:  dir,
		temp: filepath.Join(filepath.Dir(dir), durable.TempPrefix+filepath.Base(dir)),
		m:    manifest{Format: formatName, Version: formatVersion, Header: h, Files: map[string]FileInfo{}},
	}
	if err := durable.RemoveTree(fsys, w.temp); err != nil {
		return nil, fmt.Errorf("checkpoint %s: clear a leftover: %w", dir, err)
	}
	if err := fsys.Mkdir(w.temp); err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", dir, err)
	}
	return w, nil
}

func (w *Writer) fail(err error) error {
	if w.err == nil {
		w.err = fmt.Errorf("checkpoint %s: %w", w.dir, err)
	}
	return w.err
}

// Tensors writes a safetensors file; metadata may be nil.
func (w *Writer) Tensors(file string, metadata map[string]string, tensors ...safetensors.Tensor) error {
	return w.Stream(file, func(out io.Writer) error { return safetensors.Write(out, metadata, tensors...) })
}

// Blob writes a file of bytes whose meaning only the caller knows.
func (w *Writer) Blob(file string, data []byte) error {
	return w.Stream(file, func(out io.Writer) error {
		_, err := out.Write(data)
		return err
	})
}

// Stream writes a file with the bytes that write produces.
func (w *Writer) Stream(file string, write func(io.Writer) error) error {
	if segmentName(file) {
		return w.fail(fmt.Errorf("file name %q is reserved for replay segments", file))
	}
	return w.file(file, write)
}

// file writes one file, synced, and records its size and hash.
func (w *Writer) file(name string, write func(io.Writer) error) error {
	if w.err != nil {
		return w.err
	}
	if err := checkFileName(name); err != nil {
		return w.fail(err)
	}
	if _, twice := w.m.Files[name]; twice {
		return w.fail(fmt.Errorf("%s: was written already", name))
	}
	info, err := w.synced(name, write)
	if err != nil {
		return w.fail(fmt.Errorf("%s: %w", name, err))
	}
	w.m.Files[name] = info
	return nil
}

func (w *Writer) synced(name string, write func(io.Writer) error) (FileInfo, error) {
	f, err := w.fsys.Create(filepath.Join(w.temp, name))
	if err != nil {
		return FileInfo{}, err
	}
	sum := &hashing{w: f, h: sha256.New()}
	if w.buf == nil {
		w.buf = bufio.NewWriterSize(nil, 256<<10)
	}
	w.buf.Reset(sum)
	err = write(w.buf)
	if err == nil {
		err = w.buf.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return FileInfo{Bytes: sum.n, SHA256: hexSum(sum.h)}, err
}

// hashing passes bytes on, hashes and counts them.
type hashing struct {
	w io.Writer
	h hash.Hash
	n int64
}

func (s *hashing) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.h.Write(b[:n])
	s.n += int64(n)
	return n, err
}

// Commit finishes the checkpoint: it writes the manifest, then MANIFEST.sha256, then renames the folder. After an error
// the checkpoint does not exist, or it is complete where only the last sync failed.
func (w *Writer) Commit() (*Checkpoint, error) {
	if w.err != nil {
		return nil, w.err
	}
	if w.done {
		return nil, w.fail(errDone)
	}
	c, err := w.commit()
	if err != nil {
		return nil, w.fail(err)
	}
	w.done = true
	if w.store != nil {
		w.store.base = c
	}
	return c, nil
}

func (w *Writer) commit() (*Checkpoint, error) {
	if err := w.m.validate(); err != nil {
		return nil, err
	}
	text, err := w.m.encode()
	if err != nil {
		return nil, err
	}
	sums := map[string]string{ManifestFile: hashOf(text)}
	for name, f := range w.m.Files {
		sums[name] = f.SHA256
	}
	last := encodeSums(sums)
	for _, f := range []struct {
		name string
		data []byte
	}{{ManifestFile, text}, {SumsFile, last}} {
		_, err := w.synced(f.name, func(out io.Writer) error {
			_, err := out.Write(f.data)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if err := w.fsys.SyncDir(w.temp); err != nil {
		return nil, err
	}
	if err := w.place(last); err != nil {
		return nil, err
	}
	if err := w.fsys.SyncDir(filepath.Dir(w.dir)); err != nil {
		return nil, err
	}
	m := w.m
	return &Checkpoint{fsys: w.fsys, dir: w.dir, m: &m, id: hashOf(last)}, nil
}

// place renames the finished folder. In a store, a crash may have left a checkpoint of that name: one with the same
// content stays, another is removed unless a pointer names it.
func (w *Writer) place(sums []byte) error {
	if w.store != nil {
		switch _, err := w.fsys.Lstat(w.dir); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case durable.SameFile(w.fsys, filepath.Join(w.dir, SumsFile), sums):
			return durable.RemoveTree(w.fsys, w.temp)
		default:
			if err := w.store.retire(filepath.Base(w.dir)); err != nil {
				return err
			}
		}
	}
	return w.fsys.Rename(w.temp, w.dir)
}

// Abort removes what was written. It does nothing after a successful [Writer.Commit], so that it can be deferred.
func (w *Writer) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	_ = w.fail(errDone) // what every later call returns
	return durable.RemoveTree(w.fsys, w.temp)
}
