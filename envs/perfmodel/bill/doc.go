// Package bill prices runs of functions and of workflows as clouds bill them.
//
// A [Tariff] prices a run by memory, time and request, with the time rounded up to a step of 1 or 100 ms. What a run is
// expected to cost is the expectation of the rounded time ([Tariff.Expected]), which is not the rounded expectation
// ([Tariff.OfMean]) that OptiServe's eq. 3.2 and PRCP use: the two differ by up to half a step. An [Orchestration]
// prices what moves a request from function to function: its transitions often cost more than the functions.
//
// Times come from package memory and from measurements ([Runs], [Quantiles]).
package bill
