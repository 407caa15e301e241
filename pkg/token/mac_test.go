package token_test

import (
	"errors"
	"testing"

	"github.com/waitless/waitless/pkg/token"
)

func TestMAC(t *testing.T) {
	t.Parallel()
	const poll, task token.Use = "poll", "task"
	keys := token.Keys{Current: sealing(1, 'a')}
	mac := keys.MAC(poll, []byte("message"))
	later := token.Keys{Current: sealing(2, 'b'), Others: []token.Key{keys.Current}}
	for name, tt := range map[string]struct {
		keys    token.Keys
		use     token.Use
		message string
		mac     string
		want    error
	}{
		"its own":             {keys, poll, "message", mac, nil},
		"after a replacement": {later, poll, "message", mac, nil},
		"of the later key":    {later, poll, "message", later.MAC(poll, []byte("message")), nil},
		"another use":         {keys, task, "message", mac, token.ErrForged},
		"another message":     {keys, poll, "massage", mac, token.ErrForged},
		"none":                {keys, poll, "message", "", token.ErrForged},
		"cut":                 {keys, poll, "message", mac[:len(mac)-1], token.ErrForged},
		"another secret":      {token.Keys{Current: sealing(1, 'b')}, poll, "message", mac, token.ErrForged},
		"a key that is gone":  {token.Keys{Current: sealing(2, 'b')}, poll, "message", mac, token.ErrUnknownKey},
		"no usable key":       {token.Keys{Current: token.Key{ID: 1}}, poll, "message", mac, token.ErrUnknownKey},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tt.keys.CheckMAC(tt.use, []byte(tt.message), tt.mac); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
	if mac := (token.Keys{}).MAC(poll, nil); mac != "" {
		t.Errorf("without a key the MAC is %q", mac)
	}
}
