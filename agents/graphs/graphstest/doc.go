// Package graphstest is a small environment over graphs whose best choices are known, for the tests of those who learn
// to choose within graphs.
package graphstest
