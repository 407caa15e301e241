package disk

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// APIKeyFile is the file in a store that holds the key of its management API.
const APIKeyFile = "api.key"

// minAPIKey is the least length of a key that a user wrote into the file.
const minAPIKey = 24

// APIKey returns the key that clients of the management API send over TCP. It
// makes one if the store has none. Only the owner of the store can read it.
func (s *Store) APIKey() (string, error) {
	file := filepath.Join(s.path, APIKeyFile)
	text, err := os.ReadFile(file) //nolint:gosec // G304: a fixed name in the store that the user chose
	switch key := strings.TrimSpace(string(text)); {
	case errors.Is(err, os.ErrNotExist):
		key = rand.Text()
		return key, writePrivate(file, []byte(key+"\n"))
	case err != nil:
		return "", err
	case len(key) < minAPIKey:
		return "", fmt.Errorf("%s has a key of length %d; allowed: at least %d bytes; remove the file, and a key is made", file, len(key), minAPIKey)
	default:
		return key, checkPrivate(file)
	}
}
