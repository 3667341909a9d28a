// Package jetstream has the form of a farm over NATS JetStream: a coordinator, and workers in other processes and on other
// machines.
//
// [Listen] starts a NATS server in the coordinator's process, [Join] connects a worker. Units are a work queue with
// explicit acknowledgement; results are created once, in a key-value bucket; files are objects. Units and results are in
// the server's memory, files in a temporary folder of the coordinator: all of it may be lost, since the coordinator submits
// again what its study's folder does not have.
//
// In place of that server both may use the user's own NATS, a [Cluster]. Streams and buckets are then on its disks, on
// three of its nodes where it has so many, and are removed when the study ends.
//
// NATS makes a first build longer, and is linked under the build tag farm alone (go build -tags farm). Without the tag
// Listen and Join fail with [ErrLeftOut].
package jetstream

import (
	"crypto/tls"
	"errors"
	"time"

	"github.com/stoker-rl/stoker/farm"
)

// ErrLeftOut says that the program was built without NATS.
var ErrLeftOut = errors.New("this program was built without NATS: build it with make build TAGS=farm, or go install -tags farm")

// Study is what a coordinator tells workers that join.
type Study struct {
	Revision string `json:"revision"`
	Kernels  string `json:"kernels"`
}

// ListenOptions say where a coordinator listens.
type ListenOptions struct {
	// Address is HOST:PORT; port 0 takes a free one.
	Address string
	// Token is what workers must know.
	Token string
	// Certificate is the server's. It may be left out on loopback alone.
	Certificate *tls.Certificate
	Study       Study
	// Cluster, where set, is used in place of a server here; it has no Address, Token and Certificate.
	Cluster *Cluster
	// Lease is how long workers may be silent: [farm.LeaseTime] where 0.
	Lease time.Duration
}

// JoinOptions say how a worker finds its coordinator.
type JoinOptions struct {
	Address farm.Address
	Token   string
	// Cluster, where set, is used in place of Address and Token.
	Cluster *Cluster
	// Patience is how long a coordinator may be away; then the study counts as lost.
	Patience time.Duration
}
