package engine

import (
	"container/list"
	"sync"
)

// cache keeps values in memory: those used last, as far as they fit. The zero value is empty and
// ready for use, also by several goroutines.
type cache[K comparable, V any] struct {
	mu    sync.Mutex
	found map[K]*list.Element // of *cached[K, V]
	order list.List           // the one used last is the first
	size  int
}

type cached[K comparable, V any] struct {
	key   K
	value V
	size  int
}

// get returns a value. ok is false if it is not kept.
func (c *cache[K, V]) get(key K) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.found[key]
	if !ok {
		return v, false
	}
	c.order.MoveToFront(e)
	return c.of(e).value, true
}

// put keeps a value of so many bytes. It drops the least recently used values until the rest has no
// more than limit bytes; the new one always stays.
func (c *cache[K, V]) put(key K, v V, size, limit int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(&cached[K, V]{key, v, size}, limit)
}

// getOrPut returns the kept value; if there is none, it keeps and returns the result of make.
func (c *cache[K, V]) getOrPut(key K, size, limit int, make func() V) V {
	if v, ok := c.get(key); ok {
		return v
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.found[key]; ok {
		return c.of(e).value
	}
	added := &cached[K, V]{key, make(), size}
	c.add(added, limit)
	return added.value
}

func (c *cache[K, V]) add(added *cached[K, V], limit int) {
	if e, ok := c.found[added.key]; ok {
		c.drop(e)
	}
	if c.found == nil {
		c.found = map[K]*list.Element{}
	}
	c.found[added.key] = c.order.PushFront(added)
	c.size += added.size
	for c.size > limit && c.order.Len() > 1 {
		c.drop(c.order.Back())
	}
}

func (c *cache[K, V]) drop(e *list.Element) {
	c.size -= c.of(e).size
	delete(c.found, c.of(e).key)
	c.order.Remove(e)
}

func (*cache[K, V]) of(e *list.Element) *cached[K, V] { return e.Value.(*cached[K, V]) } //nolint:forcetypeassert // nothing else is put
