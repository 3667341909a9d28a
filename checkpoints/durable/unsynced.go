package durable

// Unsynced is the real file system without the promise that what is written survives a power cut: for folders that nobody
// reads after one.
type Unsynced struct{ OS }

// Create implements [FS].
func (u Unsynced) Create(name string) (File, error) { return unsynced(u.OS.Create(name)) }

// Append implements [FS].
func (u Unsynced) Append(name string) (File, error) { return unsynced(u.OS.Append(name)) }

// SyncDir does nothing.
func (Unsynced) SyncDir(string) error { return nil }

type unsyncedFile struct{ File }

// Sync does nothing.
func (unsyncedFile) Sync() error { return nil }

func unsynced(f File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return unsyncedFile{f}, nil
}
