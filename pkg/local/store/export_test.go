package store

// NewDatabase returns an empty database in memory.
func NewDatabase() Database { return newMemory() }
