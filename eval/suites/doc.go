// Package suites is the one table of suites: what `stoker suite` can redo is what stands here. A suite is a folder
// below; package suite is what they are made with.
package suites
