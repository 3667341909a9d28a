//go:build tools

package serving

// Gorgonia's modules ask for google.golang.org/genproto of 2021, in which the packages were that gRPC has from
// google.golang.org/genproto/googleapis/rpc. In a workspace, as make cuda writes one, both are found and the build
// stops; a genproto of today no longer has them. This import, which no build takes, holds it in go.mod.
import _ "google.golang.org/genproto/protobuf/ptype"
