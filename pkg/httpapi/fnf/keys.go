package fnf

import (
	"encoding/json"
	"errors"
	"fmt"
)

// MinSecret is the least length of a client's secret, in bytes: whoever has seen
// one signed request can try shorter ones at home.
const MinSecret = 24

// ParseKeys reads {"id":"secret"}. An error never shows a secret.
func ParseKeys(text string) (map[string]string, error) {
	var keys map[string]string
	if json.Unmarshal([]byte(text), &keys) != nil {
		return nil, errors.New(`it is not what belongs there; allowed: {"id":"secret"}, with any number of them`)
	}
	for id, secret := range keys {
		if len(secret) < MinSecret {
			return nil, fmt.Errorf("the secret of key %q has %d bytes; allowed: at least %d", id, len(secret), MinSecret)
		}
	}
	return keys, nil
}
