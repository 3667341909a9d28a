// Package sizing holds what learned policies are compared with on stoker/Sizing-v2: [Fixed] holds one configuration,
// [Autoscaler] is Kubernetes' threshold autoscaler, [RandomSearch] tries fifteen configurations and keeps the best, and
// [Oracle] searches each window's configuration on a noise-free copy of the environment. Each is one file.
package sizing
