// Package must ends a test at an error that it does not expect, in one line.
package must

// tester is a testing.TB, or the T of package rapid.
type tester interface {
	Helper()
	Fatal(args ...any)
}

// Do ends the test where there is an error.
func Do(t tester, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// Get is for a call that returns a value and an error, as in must.Get(New(c))(t): the value, or the end of the test.
func Get[T any](v T, err error) func(tester) T {
	return func(t tester) T {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
		return v
	}
}
