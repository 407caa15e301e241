package disk

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/token"
)

// askedForNewKeys is the text of a key file that asks for new keys, which makes all tokens invalid.
const askedForNewKeys = "new"

// readKeys reads the keys that sign a store's tokens. A line has the id of a key and its secret in
// hexadecimal digits. The first key signs, and all of them verify. If the file is missing, the
// error is [os.ErrNotExist].
func readKeys(file string) (token.Keys, error) {
	text, err := os.ReadFile(file) //nolint:gosec // G304: a fixed name in the store that the user chose
	if err == nil {
		err = checkPrivate(file)
	}
	if err != nil {
		return token.Keys{}, fmt.Errorf("read the token keys: %w", err)
	}
	trimmed := strings.TrimSpace(string(text))
	if trimmed == askedForNewKeys {
		return writeNewKeys(file)
	}
	keys, err := parseKeys(trimmed)
	if err != nil {
		return token.Keys{}, fmt.Errorf("token keys %s: %w; %s", file, err, restoreKeys(file))
	}
	return keys, nil
}

// makeKeys creates the keys of a store without keys. It fails if tokens are open: their keys are
// lost.
func (s *Store) makeKeys(file string) error {
	open, err := s.HasOpenTokens(context.Background())
	if err != nil {
		return err
	}
	if open {
		return invalid("token keys %s: the file is missing, and tokens signed with it are open; %s", file, restoreKeys(file))
	}
	if s.keys, err = writeNewKeys(file); err != nil {
		return invalid("%w", err)
	}
	return nil
}

func writeNewKeys(file string) (token.Keys, error) {
	keys := store.NewKeys()
	return keys, writePrivate(file, fmt.Appendf(nil, "%d %x\n", keys.Current.ID, keys.Current.Secret))
}

// restoreKeys returns what to do without usable keys.
func restoreKeys(file string) string {
	return fmt.Sprintf("restore the file from a copy; without a copy make new keys, which makes all tokens and callback URLs handed out invalid: "+
		"(umask 077; echo %s > '%s')", askedForNewKeys, strings.ReplaceAll(file, "'", `'\''`))
}

// parseKeys reads the lines of a key file. Its errors do not quote a line, which has a secret.
func parseKeys(text string) (keys token.Keys, err error) {
	for i, line := range strings.Split(text, "\n") {
		number, digits, _ := strings.Cut(line, " ")
		id, err := strconv.ParseUint(number, 10, 8)
		secret, notHex := hex.DecodeString(digits) // of the whole line: a part of a secret is another secret
		if err != nil || notHex != nil {
			return token.Keys{}, fmt.Errorf("line %d: it is not the id of a key, 0 to 255, and a secret in hexadecimal digits", i+1)
		}
		key := token.Key{ID: uint8(id), Secret: secret}
		if i == 0 {
			keys.Current = key
		} else {
			keys.Others = append(keys.Others, key)
		}
	}
	return keys, keys.Check()
}
