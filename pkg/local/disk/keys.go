package disk

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/token"
)

// readKeys reads the keys that sign a store's tokens, and makes them when
// there are none yet. A line holds the id of a key and its secret in
// hexadecimal digits; the first is the current key, a second one the previous.
func readKeys(file string) (token.Keys, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		keys := local.NewKeys()
		return keys, writePrivate(file, fmt.Appendf(nil, "%d %x\n", keys.Current.ID, keys.Current.Secret))
	}
	if err == nil {
		err = checkPrivate(file)
	}
	if err != nil {
		return token.Keys{}, fmt.Errorf("read the token keys: %w", err)
	}
	keys, err := parseKeys(strings.TrimSpace(string(text)))
	if err != nil {
		return token.Keys{}, fmt.Errorf("token keys %s: %w; restore the file, or remove it, which makes all tokens handed out invalid", file, err)
	}
	return keys, nil
}

func parseKeys(text string) (token.Keys, error) {
	lines := strings.Split(text, "\n")
	if len(lines) > 2 {
		return token.Keys{}, fmt.Errorf("%d lines; allowed: one or two", len(lines))
	}
	var keys token.Keys
	for i, line := range lines {
		key, err := parseKey(line)
		if err != nil {
			return token.Keys{}, fmt.Errorf("line %d: %w", i+1, err)
		}
		if i == 0 {
			keys.Current = key
		} else {
			keys.Previous = &key
		}
	}
	return keys, keys.Check()
}

// parseKey never quotes what it read: it may be a secret.
func parseKey(line string) (token.Key, error) {
	number, digits, _ := strings.Cut(line, " ")
	id, err := strconv.ParseUint(number, 10, 8)
	if err != nil {
		return token.Key{}, errors.New("it does not begin with the id of a key, 0 to 255")
	}
	secret, err := hex.DecodeString(digits)
	if err != nil {
		return token.Key{}, errors.New("its secret is not in hexadecimal digits")
	}
	return token.Key{ID: uint8(id), Secret: secret}, nil
}
