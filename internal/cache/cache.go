// Package cache has a map of bounded size that keeps the values set most recently.
package cache

import "time"

// Cache is a map that drops the values that were not set lately. It has two generations: values
// are set in the young one; when that is full or too old, it becomes the old one, and
// the values of the former old one are dropped. So it takes at most twice MaxSize,
// needs no goroutine, and a value stays for at least MaxAge unless others take its
// place.
//
// Its methods need a lock around them. Len and Get only read.
type Cache[K comparable, V any] struct {
	MaxSize int           // of a generation; 0: no limit
	MaxAge  time.Duration // of a generation; 0: no limit

	young, old map[K]V
	size       int       // of young
	began      time.Time // of young
}

// Get returns the value that was last set for a key. It may be older than MaxAge.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	if value, ok = c.young[key]; !ok {
		value, ok = c.old[key]
	}
	return value, ok
}

// Set sets the value of a key, which counts as size towards MaxSize.
func (c *Cache[K, V]) Set(key K, value V, size int, now time.Time) {
	if c.young == nil || c.MaxSize > 0 && c.size >= c.MaxSize || c.MaxAge > 0 && now.Sub(c.began) >= c.MaxAge {
		c.young, c.old, c.size, c.began = map[K]V{}, c.young, 0, now
	}
	if _, again := c.young[key]; !again {
		c.size += size
	}
	c.young[key] = value
	delete(c.old, key)
}

// Len returns the number of values.
func (c *Cache[K, V]) Len() int { return len(c.young) + len(c.old) }
