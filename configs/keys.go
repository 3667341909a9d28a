package configs

import (
	"slices"
	"strings"
)

// ShortKey is the last part of a dotted key, or as many of its last parts as no other of keys ends with.
func ShortKey(key string, keys []string) string {
	parts := strings.Split(key, ".")
	for n := 1; n < len(parts); n++ {
		short := strings.Join(parts[len(parts)-n:], ".")
		if !slices.ContainsFunc(keys, func(o string) bool { return o != key && strings.HasSuffix("."+o, "."+short) }) {
			return short
		}
	}
	return key
}
