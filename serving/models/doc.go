// Package models keeps the policies that a server serves: each is a bundle's file, opened and tested before anybody
// sees it, under a name, and known by the digest of its bytes. A file that changes is opened beside the policy that
// serves; only one that passes takes its place.
package models
