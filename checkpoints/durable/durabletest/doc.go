// Package durabletest has a disk in memory for tests of crash safety: a [durable.FS] that knows which bytes and names
// were synced, and returns the disk that a power cut would leave. [WithHooks] stops a test after each operation in
// turn.
//
// It is stricter than most disks: each unsynced name survives or is lost independently. So code that is safe here is
// safe on real disks. It has no permissions, no times and no symbolic links.
package durabletest
