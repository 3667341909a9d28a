// Package inference is the gRPC form of the Open Inference Protocol, generated from inference.proto. What the calls do
// is package serving's.
package inference

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative inference.proto
