package cached

import (
	"container/list"
	"sync"
)

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
