package engine_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
)

// A few bytes name a log and make room for its lanes, so a forged text of a URL's length would fill
// the memory.
func TestPositionsHaveNoMoreForksThanAreFollowed(t *testing.T) {
	t.Parallel()
	const fork, lane = "\x02\x00\x64\x01", "\x02\x00\x00"
	for forks, valid := range map[int]bool{1: true, 200: true, 1000: false, 100_000: false} {
		text := base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat(fork, forks) + lane))
		p, err := engine.ParsePosition(text)
		if (err == nil) != valid {
			t.Errorf("%d forks: error %v", forks, err)
		}
		if valid && p.String() != text {
			t.Errorf("%d forks are read as %.40s, want %.40s", forks, p, text)
		}
	}
}
