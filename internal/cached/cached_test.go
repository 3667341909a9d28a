package cached

import (
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

func TestNumber(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	calls := 0
	ask := func(key string, x float64, err error) (float64, error) {
		return Number("test", key, func() (float64, error) { calls++; return x, err })
	}
	for range 2 {
		if x, err := ask("a", 1.0/3, nil); x != 1.0/3 || err != nil {
			t.Fatalf("%v, %v", x, err)
		}
	}
	forget()
	if x, err := ask("a", 9, nil); x != 1.0/3 || err != nil || calls != 1 {
		t.Errorf("%v, %v after %d computations, want the first one's from the folder", x, err, calls)
	}
	must.Do(t, os.WriteFile(place("test", "a"), []byte(`{"key": "another", "value": 5}`), 0o600))
	forget()
	if x, _ := ask("a", 9, nil); x != 9 || calls != 2 {
		t.Errorf("%v, want a file of another key to be passed over", x)
	}
	wrong := errors.New("wrong")
	if _, err := ask("b", 1, wrong); !errors.Is(err, wrong) {
		t.Errorf("%v, want what the computation says", err)
	}
	forget()
	if x, err := ask("b", 2, nil); x != 2 || err != nil {
		t.Errorf("%v, %v, want a failure not to be kept", x, err)
	}
}

// forget empties the memory, as a new process has it.
func forget() { numbers = NewCache[string, float64](4096) }

// Where nothing can be written the number is computed all the same.
func TestNoFolder(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/dev/null/none")
	if x, err := Number("test", "nowhere", func() (float64, error) { return 4, nil }); x != 4 || err != nil {
		t.Errorf("%v, %v", x, err)
	}
}

// A cache makes each value once, and keeps the values that were asked for last.
func TestCache(t *testing.T) {
	c, made := NewCache[int, int](2), map[int]int{}
	ask := func(key int) {
		x, err := c.Get(key, func(key int) (int, error) { made[key]++; return 10 * key, nil })
		if x != 10*key || err != nil {
			t.Errorf("%d: %d, %v", key, x, err)
		}
	}
	for _, key := range []int{1, 2, 1, 3, 1, 2} { // 3 takes the place of 2
		ask(key)
	}
	if made[1] != 1 || made[2] != 2 || made[3] != 1 || c.Len() != 2 {
		t.Errorf("made %v, %d are kept", made, c.Len())
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := c.Get(9, func(int) (int, error) { made[9]++; return 0, nil }); err != nil {
				t.Error(err)
			}
		})
	}
	if all.Wait(); made[9] != 1 {
		t.Errorf("made %d times", made[9])
	}
}
