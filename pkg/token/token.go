package token

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ID is the content of a token: the attempt that it closes, and when the token expires.
type ID struct {
	// Execution is the id of the execution's log; of an external wait, a hash of its
	// recipient.
	Execution [12]byte
	// Number is the attempt's number in the execution.
	Number uint32
	// Expires is when nothing of the execution is left, in whole seconds from 1970 to
	// 2106. It is later than any deadline, so that a late caller learns what happened first.
	Expires time.Time
	Flags   Flags
	// Sender must sign callbacks if Flags has [FlagSender]; else it is zero.
	Sender Sender
}

// Sender is a hash of a sender's name. It is short, because tokens are: a configuration
// with two names of one hash is rejected.
type Sender [senderSize]byte

// SenderOf returns the hash of a sender's name.
func SenderOf(name string) Sender {
	sum := sha256.Sum256([]byte("waitless: sender " + name))
	return Sender(sum[:senderSize])
}

// Flags give the purpose of a token and the properties that a callback must have to close it.
type Flags uint8

// The flags.
const (
	// FlagSigned demands that a callback has a signature of its body.
	FlagSigned Flags = 1 << iota
	// FlagExternal marks the token of an external wait: it stands for a token of another
	// engine, so its outcome is delivered to that engine and wakes no execution.
	FlagExternal
	// FlagSender demands the signature of the [ID]'s Sender. FlagSigned is set, too.
	FlagSender
	// FlagAnyValue marks the token of a step whose output may be any JSON value, and not an object
	// alone.
	FlagAnyValue
)

const (
	version = 1
	// flagBits is how many bits of the first byte the flags have.
	flagBits = 4
	// headSize: version and flags, key id, execution, number, expiry.
	headSize = 1 + 1 + 12 + 4 + 4
	// senderSize is how much longer the head of a token with FlagSender is.
	senderSize = 4
)

// MaxLength is the greatest length of a token's text, in characters.
const MaxLength = 80

var encoding = base64.RawURLEncoding.Strict()

// Key is a secret that tokens are signed with.
type Key struct {
	ID     uint8  // stands in the token, so that keys can be replaced
	Secret []byte // [SecretSize] random bytes
}

// SecretSize is the size of a key's secret, in bytes.
const SecretSize = 32

// Keys sign and verify tokens. One key signs, all of them verify: tokens of a key
// stay valid until an operator takes the key away.
type Keys struct {
	Current Key
	// Others verify, and sign nothing.
	Others []Key
}

// Check returns an error for keys that must not be used.
func (k Keys) Check() error {
	seen := map[uint8]bool{}
	for _, key := range append([]Key{k.Current}, k.Others...) {
		if len(key.Secret) < SecretSize {
			return fmt.Errorf("token key %d has the length %d; allowed: at least %d bytes", key.ID, len(key.Secret), SecretSize)
		}
		if seen[key.ID] {
			return fmt.Errorf("two token keys have the id %d; give the new one another", key.ID)
		}
		seen[key.ID] = true
	}
	return nil
}

// Sign returns the text of the token for id: a handle, a dot and a signature, URL-safe.
// The same id and key give the same text.
func (k Keys) Sign(id ID) string {
	head := id.head(k.Current.ID)
	return encoding.EncodeToString(head) + "." + encoding.EncodeToString(hmacOf(k.Current.Secret, head))
}

// SignAgain returns the text of the token with that handle, signed with the key that the
// handle names, so that it does not change when keys are replaced. It reports false if the
// handle is not valid or its key is not one of these.
func (k Keys) SignAgain(handle string) (text string, ok bool) {
	head, key, err := k.keyOf(handle, ErrInvalid)
	if err != nil {
		return "", false
	}
	return handle + "." + encoding.EncodeToString(hmacOf(key.Secret, head)), true
}

func hmacOf(secret, message []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write(message)
	return mac.Sum(nil)
}

// CallbackURL returns the URL for reports with the token. Base is where callbacks arrive:
// "https://host", with or without a slash behind it.
func CallbackURL(base, text string) string {
	return strings.TrimRight(base, "/") + "/callbacks/" + text
}

// Handle returns the handle of the token for id: the text before the dot. Stores keep it
// in place of the token, because it closes nothing.
func (k Keys) Handle(id ID) string { return encoding.EncodeToString(id.head(k.Current.ID)) }

// HandleID returns the content of a handle. Unlike [Keys.Verify] it proves nothing. It
// reports false for a text that is not a handle.
func HandleID(handle string) (id ID, ok bool) {
	head, ok := decodeHead(handle)
	if !ok {
		return ID{}, false
	}
	return parseHead(head), true
}

func (id ID) head(key uint8) []byte {
	head := make([]byte, 0, headSize+senderSize)
	head = append(head, version<<flagBits|byte(id.Flags), key)
	head = append(head, id.Execution[:]...)
	head = binary.BigEndian.AppendUint32(head, id.Number)
	head = binary.BigEndian.AppendUint32(head, uint32(id.Expires.Unix())) //nolint:gosec // documented: until 2106
	if id.Flags&FlagSender != 0 {
		head = append(head, id.Sender[:]...)
	}
	return head
}

// ErrInvalid is the error for a token that is forged, damaged, of an unknown version or
// key, or expired. It does not say which, because the reason would only help a forger.
var ErrInvalid = errors.New("the token is not valid: it is damaged, was not issued here, or expired with its execution")

// Verify returns the content of the token's text, if one of the keys signed it and it has not
// expired. The error is [ErrInvalid], inside an [*UnknownKeyError] if newer keys may verify the
// text. Verify takes the same time for every signature.
func (k Keys) Verify(text string, now time.Time) (id ID, handle string, err error) {
	handle, signature, ok := strings.Cut(text, ".")
	if !ok || len(text) > MaxLength || strings.ContainsAny(text, "\r\n") { // which base64 would skip
		return ID{}, "", ErrInvalid
	}
	sum, err := encoding.DecodeString(signature)
	if err != nil {
		return ID{}, "", ErrInvalid
	}
	head, key, err := k.keyOf(handle, ErrInvalid)
	if err != nil {
		return ID{}, "", err
	}
	if id = parseHead(head); !hmac.Equal(sum, hmacOf(key.Secret, head)) || !now.Before(id.Expires) {
		return ID{}, "", ErrInvalid
	}
	return id, handle, nil
}

// UnknownKeyError says that a text names an unknown key. The key may have been added after the keys
// were read: read the keys again and try once more. The error has the same text as the wrapped
// error and does not tell a forger that only the key is unknown.
type UnknownKeyError struct{ error }

// Unwrap returns the error that hides the unknown key.
func (e *UnknownKeyError) Unwrap() error { return e.error }

// With calls use with the keys. If use fails with an [*UnknownKeyError], With calls it once more
// with the keys that newer reads. Without newer, there are no other keys.
func (k Keys) With(newer func() (Keys, error), use func(Keys) error) error {
	err := use(k)
	if _, unknown := errors.AsType[*UnknownKeyError](err); !unknown || newer == nil {
		return err
	}
	keys, readErr := newer()
	if readErr != nil {
		return err
	}
	return use(keys)
}

// HasKey reports whether the key that the handle names is one of these.
func (k Keys) HasKey(handle string) bool {
	_, _, err := k.keyOf(handle, ErrInvalid)
	return err == nil
}

// keyOf returns the head of a handle and the key that it names. The error is invalid, inside an
// [*UnknownKeyError] if the key is not one of these.
func (k Keys) keyOf(handle string, invalid error) (head []byte, key Key, err error) {
	head, ok := decodeHead(handle)
	if !ok {
		return nil, Key{}, invalid
	}
	key, err = k.byID(head[1], invalid)
	return head, key, err
}

// byID returns the key with that id. A key that is too short is not one of these.
func (k Keys) byID(id uint8, invalid error) (Key, error) {
	for _, key := range append([]Key{k.Current}, k.Others...) {
		if key.ID == id && len(key.Secret) >= SecretSize {
			return key, nil
		}
	}
	return Key{}, &UnknownKeyError{invalid}
}

// derived returns the key for another use than tokens.
func (k Key) derived(use string) []byte {
	secret, err := hkdf.Key(sha256.New, k.Secret, nil, use, SecretSize)
	if err != nil {
		panic(err) // the size is within the limit of the algorithm
	}
	return secret
}

// decodeHead returns the decoded head of a handle of this version.
func decodeHead(handle string) (head []byte, ok bool) {
	head, err := encoding.DecodeString(handle)
	if err != nil || len(head) < headSize || head[0]>>flagBits != version {
		return nil, false
	}
	want := headSize
	if flagsOf(head)&FlagSender != 0 {
		want += senderSize
	}
	return head, len(head) == want
}

func flagsOf(head []byte) Flags { return Flags(head[0] & (1<<flagBits - 1)) }

func parseHead(head []byte) ID {
	id := ID{
		Flags:     flagsOf(head),
		Execution: [12]byte(head[2:14]),
		Number:    binary.BigEndian.Uint32(head[14:18]),
		Expires:   time.Unix(int64(binary.BigEndian.Uint32(head[18:22])), 0).UTC(),
	}
	if id.Flags&FlagSender != 0 {
		id.Sender = Sender(head[headSize:])
	}
	return id
}

// Mask returns a short name of a token for views and logs: "...", a part of its execution's
// hash, and the attempt's number in the execution, which counts events and so may begin above 1.
// It identifies the token in a list, and is neither a token nor a handle. The text is a token or a
// handle; any other text becomes "...".
func Mask(text string) string {
	handle, _, _ := strings.Cut(text, ".")
	id, ok := HandleID(handle)
	if !ok {
		return "..."
	}
	const shown = 6 // bytes of the hash
	return fmt.Sprintf("...%s:%d", encoding.EncodeToString(id.Execution[:shown]), id.Number)
}

// The lengths of a token's two parts, in characters.
var (
	handleLength     = encoding.EncodedLen(headSize)
	longHandleLength = encoding.EncodedLen(headSize + senderSize)
	signatureLength  = encoding.EncodedLen(sha256.Size)
)

// handleStart returns where the handle that ends at the dot would begin.
func handleStart(s string, dot int) int {
	if start := dot - longHandleLength; start >= 0 {
		if _, ok := decodeHead(s[start:dot]); ok {
			return start
		}
	}
	return dot - handleLength
}

// MaskAll returns the text with every token in it masked.
func MaskAll(s string) string {
	if len(s) < handleLength+1+signatureLength {
		return s
	}
	var out strings.Builder
	done := 0 // what of s is written
	for dot := range len(s) {
		end := dot + 1 + signatureLength
		if s[dot] != '.' || end > len(s) {
			continue
		}
		start := handleStart(s, dot)
		if start >= done && isEncoded(s[start:dot]) && isEncoded(s[dot+1:end]) {
			out.WriteString(s[done:start] + Mask(s[start:end]))
			done = end
		}
	}
	return out.String() + s[done:]
}

// MaskJSON returns the JSON with every token in its texts and keys masked. The digits of a number
// can look like a token, and stay.
func MaskJSON(shown string) string {
	if MaskAll(shown) == shown { // nothing looks like a token
		return shown
	}
	var masked strings.Builder
	for {
		begin := strings.IndexByte(shown, '"')
		if begin < 0 {
			return masked.String() + shown
		}
		end := begin + 1
		for shown[end] != '"' {
			if shown[end] == '\\' {
				end++
			}
			end++
		}
		end++ // behind the text
		masked.WriteString(shown[:begin])
		masked.WriteString(MaskAll(shown[begin:end]))
		shown = shown[end:]
	}
}

// alphabet has the characters that encode bytes in tokens.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func isEncoded(s string) bool { return strings.Trim(s, alphabet) == "" }
