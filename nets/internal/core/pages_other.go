//go:build !linux

package core

func largePages[E any]([]E) {}
