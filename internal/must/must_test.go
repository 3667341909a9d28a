package must

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"testing"
)

// ended records what ends a test.
type ended struct {
	testing.TB
	said []any
}

func (e *ended) Helper() {}

func (e *ended) Fatal(args ...any) {
	e.said = args
	runtime.Goexit()
}

// run returns what ended f, nil where nothing did.
func run(f func(testing.TB)) []any {
	e := &ended{}
	done := make(chan bool)
	go func() {
		defer close(done)
		f(e)
	}()
	<-done
	return e.said
}

func TestDoAndGet(t *testing.T) {
	wrong := errors.New("wrong")
	if said := run(func(t testing.TB) { Do(t, wrong) }); fmt.Sprint(said...) != "wrong" {
		t.Errorf("Do ends with %v, want %v", said, wrong)
	}
	if said := run(func(t testing.TB) { Do(t, nil) }); said != nil {
		t.Errorf("Do without an error ends with %v", said)
	}
	if said := run(func(t testing.TB) { Get(strconv.Atoi("x"))(t) }); len(said) != 1 {
		t.Error("Get does not end at an error")
	}
	if got := 0; run(func(t testing.TB) { got = Get(strconv.Atoi("7"))(t) }) != nil || got != 7 {
		t.Errorf("Get returns %d, want 7", got)
	}
}
