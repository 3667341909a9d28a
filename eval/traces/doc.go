// Package traces says what a trace of requests holds: how many, how they come, how they burst, and by which factor an
// environment serves them. It is what `stoker trace` prints and draws.
package traces
