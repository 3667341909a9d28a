package cached

import (
	"container/list"
	"sync"
)

// Cache keeps the values that were asked for last, each made once. Several goroutines may use it.
type Cache struct {
	most  int
	mu    sync.Mutex
	by    map[any]*list.Element // of *kept
	order list.List             // the one asked for last comes first
}

type kept struct {
	key  any
	once any // func() (T, error)
}

// NewCache returns a cache of so many values at most.
func NewCache(most int) *Cache { return &Cache{most: most, by: map[any]*list.Element{}} }

// Get returns the value of a key; make makes it where it is not kept. Others that ask meanwhile wait. The type of a
// key says the type of its values.
func Get[T any](c *Cache, key any, make func() (T, error)) (T, error) {
	c.mu.Lock()
	e := c.by[key]
	if e == nil {
		e = c.order.PushFront(&kept{key, sync.OnceValues(make)})
		c.by[key] = e
		if c.order.Len() > c.most {
			delete(c.by, c.order.Remove(c.order.Back()).(*kept).key)
		}
	} else {
		c.order.MoveToFront(e)
	}
	c.mu.Unlock()
	return e.Value.(*kept).once.(func() (T, error))()
}

// Len is the number of values that are kept.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.order.Len()
}
