// Package bench measures what the binary can measure by itself: no test harness, no data files, no peers. Each
// measurement is one line of JSON, with machine, engine, kernels and threads, so that figures from two machines can
// be told apart.
package bench
