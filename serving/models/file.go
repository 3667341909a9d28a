package models

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// readFile reads a regular file of at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes, want at most %d", path, info.Size(), limit)
	}
	data := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead)) // grows no more unless the file does
	_, err = data.ReadFrom(io.LimitReader(f, limit+1))
	if err == nil && int64(data.Len()) > limit {
		err = fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return data.Bytes(), err
}

func stampOf(info os.FileInfo) stamp {
	return stamp{size: info.Size(), mtime: info.ModTime(), inode: inode(info)}
}
