package machine

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Format is the format number that [Encode] writes and [Decode] reads.
const Format = 1

// FormatError reports that a log item has a format that this release does not read. Nothing may be concluded from such an
// item.
type FormatError struct{ Found uint64 }

func (e *FormatError) Error() string {
	return fmt.Sprintf("machine: log item has format %d and this release reads format %d; upgrade waitless", e.Found, Format)
}

// NeedsNewerRelease reports whether only a newer release reads an item.
func NeedsNewerRelease(err error) bool {
	_, ok := errors.AsType[*FormatError](err)
	return ok
}

// cutFormat returns an item without its format.
func cutFormat(item []byte) ([]byte, error) {
	found, size := binary.Uvarint(item)
	switch {
	case size <= 0:
		return nil, ErrDamaged
	case found != Format:
		return nil, &FormatError{found}
	}
	return item[size:], nil
}
