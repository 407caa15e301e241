package simulated

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// newJobID forms a UUIDv7 (RFC 9562): 48 bits of milliseconds, then random but for version and variant.
func newJobID(now time.Time, random [10]byte) (string, error) {
	ms := now.UnixMilli()
	if ms < 0 || ms >= 1<<48 {
		return "", InvalidArgument{
			Field: "now", Found: now.UTC().Format(time.RFC3339), Allowed: "an instant from 1970 to 10889, the range of a UUIDv7",
		}
	}
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], uint64(ms)<<16)
	copy(id[6:], random[:])
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]), nil
}

// startOf answers the instant in a UUIDv7 of either case, and false for any other text.
func startOf(id string) (time.Time, bool) {
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return time.Time{}, false
	}
	b, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	if err != nil || len(b) != 16 || b[6]>>4 != 7 || b[8]>>6 != 0b10 {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(b[:8]) >> 16)), true
}
