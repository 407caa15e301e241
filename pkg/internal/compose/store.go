package compose

import (
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/local/disk"
)

// Stores opens the durable stores of package disk.
type Stores struct{}

// Open implements [target.Stores].
func (Stores) Open(dir string) (target.Store, error) {
	store, err := disk.Open(dir)
	if err != nil {
		return nil, err // not a nil *disk.Store in the interface
	}
	return store, nil
}

// Check implements [target.Stores].
func (Stores) Check(dir string) error { return disk.Check(dir) }

// Inspect implements [target.Stores].
func (Stores) Inspect(dir string) (format int, err error) { return disk.Inspect(dir) }

// Holder implements [target.Stores].
func (Stores) Holder(dir string) int { return disk.Holder(dir) }
