// Package published holds what the authors of PRCP and OptiServe published about their heuristics, so that tests and
// suites can compare with it: PRCP's six applications (github.com/pacslab/SLApp-PerfCost-MdlOpt, MIT), the reader of its
// curves and profiles, and OptiServe's two test applications. The measured files themselves are not in the repository.
package published
