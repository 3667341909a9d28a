//go:build !amd64

package kernel

func offered() []string { return nil }

func assembly(string) *Set { return nil }
