// Package bench is what `stoker bench` runs: speed measurements that need only the binary, without test harness or data
// files. Each measurement is one line of JSON that names machine, engine, kernels and threads, so that results of
// different machines stay distinguishable. [Peers] runs other programs in turn with ours and compares.
//
// Whether results meet the project's bounds is decided by this package's tests and tools/proof.
package bench
