package cache_test

import (
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/cache"
)

func TestCacheIsBounded(t *testing.T) {
	c, now := cache.Cache[int, string]{MaxSize: 100}, time.Now()
	for i := range 10_000 {
		c.Set(i, "value", 1, now)
		if c.Len() > 200 {
			t.Fatalf("%d values are kept, want at most 200", c.Len())
		}
		if _, ok := c.Get(max(0, i-99)); !ok {
			t.Fatalf("one of the last 100 values is missing after %d", i)
		}
	}
	c.Set(-1, "large", 100, now)
	c.Set(-2, "large", 100, now)
	c.Set(-3, "large", 100, now)
	if c.Len() != 2 {
		t.Errorf("%d values are kept, want the last two, which are as large as a generation", c.Len())
	}
}

func TestValueStaysForMaxAge(t *testing.T) {
	c, now := cache.Cache[string, int]{MaxAge: time.Minute}, time.Now()
	c.Set("first", 1, 1, now)
	c.Set("last", 1, 1, now.Add(time.Minute-1))
	c.Set("another", 1, 1, now.Add(2*time.Minute-2))
	if _, ok := c.Get("last"); !ok {
		t.Error("a value was dropped before MaxAge")
	}
	c.Set("yet another", 1, 1, now.Add(3*time.Minute))
	if _, ok := c.Get("last"); ok || c.Len() != 2 {
		t.Errorf("%d values are kept, want two", c.Len())
	}
}

// A value that is set again is one value, whichever generation has it.
func TestValueThatIsSetAgain(t *testing.T) {
	c, now := cache.Cache[string, int]{MaxSize: 2, MaxAge: time.Minute}, time.Now()
	for i := range 1000 {
		c.Set("key", i, 1, now.Add(time.Duration(i)*time.Second))
		if got, ok := c.Get("key"); !ok || got != i || c.Len() != 1 {
			t.Fatalf("Get = %d, %v of %d values, want %d of one", got, ok, c.Len(), i)
		}
	}
	c.Set("other", 0, 1, now)
	for range 1000 { // takes no room of others
		c.Set("key", 0, 1, now)
	}
	if _, ok := c.Get("other"); !ok || c.Len() != 2 {
		t.Errorf("%d values are kept, want two", c.Len())
	}
}
