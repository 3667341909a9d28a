// Package library holds libraries of runs of the sizing environment: for each window the configuration that was deployed
// and what came of it. Searches warm up with them, learners learn from them without an environment, and safe exploration
// takes its ranges from them.
//
// Make runs configurations in an environment, Write and Read keep them as CSV, and Fit puts rows into the layout of an
// environment, under whose thresholds they are judged again. The measurements that FaaSConf's authors published
// (parallel_10.csv) are read as such a library, too.
//
// Not here: learning from a library (package train), searching (packages eval/search and agents/online).
package library
