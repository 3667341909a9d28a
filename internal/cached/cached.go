// Package cached keeps what takes long to compute and follows from a configuration alone: values in memory ([Cache]), and
// numbers in the user's cache folder for later processes, too ([Number]). What cannot be read or written there is computed
// again.
package cached

import (
	"container/list"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"sync"
)

// numbers are those that this process asked for last.
var numbers = NewCache[string, float64](4096)

// file is what a cache file holds. Key is whole, so that a collision of hashes is noticed.
type file struct {
	Key   string  `json:"key"`
	Value float64 `json:"value"`
}

// Number returns the number of a key, of a kind such as "sizing-capacity". compute is called once where neither this
// process nor the cache folder has it; others that ask meanwhile wait. The key must describe all that the number
// depends on, a version of its computation included.
func Number(kind, key string, compute func() (float64, error)) (float64, error) {
	return numbers.Get(kind+" "+key, func(string) (float64, error) {
		path := place(kind, key)
		if x, ok := read(path, key); ok {
			return x, nil
		}
		x, err := compute()
		if err == nil {
			write(path, file{key, x})
		}
		return x, err
	})
}

// place is the file of a key, empty where the user has no cache folder.
func place(kind, key string) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	h := fnv.New64a()
	h.Write([]byte(key))
	return filepath.Join(dir, "stoker", fmt.Sprintf("%s-%016x.json", kind, h.Sum64()))
}

func read(path, key string) (float64, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	var f file
	err = json.Unmarshal(b, &f)
	return f.Value, err == nil && f.Key == key
}

// write is silent where it fails: the number is then computed again by the next process. The file is renamed into
// place, so that another process never reads half of it.
func write(path string, f file) {
	b, err := json.Marshal(f)
	if err != nil || path == "" || os.MkdirAll(filepath.Dir(path), 0o777) != nil {
		return
	}
	t, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return
	}
	_, err = t.Write(b)
	if closed := t.Close(); err != nil || closed != nil || os.Rename(t.Name(), path) != nil {
		_ = os.Remove(t.Name())
	}
}

// Cache keeps the values that were asked for last, each made once. Several goroutines may use it.
type Cache[K comparable, T any] struct {
	most  int
	mu    sync.Mutex
	by    map[K]*list.Element // of *kept[K, T]
	order list.List           // the one asked for last comes first
}

type kept[K comparable, T any] struct {
	key  K
	once func() (T, error)
}

// NewCache returns a cache of so many values at most.
func NewCache[K comparable, T any](most int) *Cache[K, T] {
	return &Cache[K, T]{most: most, by: map[K]*list.Element{}}
}

// Get returns the value of a key; make makes it where it is not kept. Others that ask meanwhile wait. For a value that is
// kept nothing is allocated.
func (c *Cache[K, T]) Get(key K, make func(K) (T, error)) (T, error) {
	c.mu.Lock()
	e := c.by[key]
	if e == nil {
		e = c.order.PushFront(&kept[K, T]{key, sync.OnceValues(func() (T, error) { return make(key) })})
		c.by[key] = e
		if c.order.Len() > c.most {
			delete(c.by, c.order.Remove(c.order.Back()).(*kept[K, T]).key)
		}
	} else {
		c.order.MoveToFront(e)
	}
	c.mu.Unlock()
	return e.Value.(*kept[K, T]).once()
}

// Len is the number of values that are kept.
func (c *Cache[K, T]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.order.Len()
}
