package simulated

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
)

// newJobID returns a UUIDv7 (RFC 9562): 48 bits of milliseconds, then random except for version and
// variant.
func newJobID(now time.Time, random [10]byte) (string, error) {
	ms := now.UnixMilli()
	if ms < 0 || ms >= 1<<48 {
		return "", invalid("now", now.UTC().Format(time.RFC3339), "an instant from 1970 to 10889, the range of a UUIDv7")
	}
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], uint64(ms)<<16)
	copy(id[6:], random[:])
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	text := hex.AppendEncode(make([]byte, 0, 36), id[:4])
	for _, part := range [][]byte{id[4:6], id[6:8], id[8:10], id[10:]} {
		text = hex.AppendEncode(append(text, '-'), part)
	}
	return string(text), nil
}

// startOf returns the instant in a UUIDv7 of either case. It returns false for any other text.
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

// maxDelay is the longest delay of a job that a token waits for, in seconds: 366 days.
const maxDelay = 366 * 24 * 60 * 60

// StartUntil starts a job that a token waits for, and returns its id. The job ends after the delay
// of {"delay":D}. The id tells when, so the delay is not stored: to [GetJobStatus] without a delay,
// the job seems to have started so much earlier or later.
func StartUntil(params []byte, now time.Time, random [10]byte) (string, error) {
	m, err := jobs.ObjectMembers("input", params)
	if err != nil {
		return "", err
	}
	delay, err := delayOf(m["delay"])
	if err != nil {
		return "", err
	}
	if delay > maxDelay {
		return "", invalid("delay", jobs.Found(m["delay"]), fmt.Sprintf("at most %d seconds", maxDelay))
	}
	ends := now.Truncate(time.Second).Add(time.Duration(math.Ceil(max(delay, 0))) * time.Second)
	return newJobID(ends.Add(-defaultDelay*time.Second), random)
}

// End returns when the job with that id succeeds, if [StartUntil] started it: from then on
// [GetJobStatus] without a delay says so. The error is JobNotFound for any other text.
func End(id string) (time.Time, error) {
	start, ok := startOf(id)
	if !ok {
		return time.Time{}, notFound(fmt.Sprintf("string %q", jobs.Shortened(id)))
	}
	return start.Truncate(time.Second).Add(defaultDelay * time.Second), nil
}
