// Package serving serves policies over the Open Inference Protocol, version 2: its HTTP form in JSON and with binary
// tensors, and its gRPC form. [Server] holds what both share: which model, how many at once, how long, who may ask,
// what is counted and logged. How a request's tensors become an observation is package tensors', which files are served
// is package models', and how a decision is made is package policy's.
//
// Other ways to ask, such as an external scaler or an extender of a scheduler, are packages beside inference: they make
// an observation and call [Server.Decide].
package serving
