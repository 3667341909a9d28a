// Package catalog is the one table of environments: what stands here can be named in a configuration and on the command line.
// There are no registries that packages fill by themselves.
//
// Not here: the environments, and whatever builds runs from them. Only main, train, eval and tests import this package.
package catalog
