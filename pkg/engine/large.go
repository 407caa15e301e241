package engine

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// LargeValues keeps the values that are too large for an item of the log. The stored bytes are
// encrypted, and only the item has the key.
type LargeValues interface {
	// StoreValue stores the bytes under a name that was never used before. It keeps a copy. If it
	// returns nil, the value is not lost before it expires. The store may delete it after that.
	StoreValue(ctx context.Context, name string, data []byte, expires time.Time) error

	// LoadValue returns the bytes. The error is [ErrNotFound] if no value has that name.
	LoadValue(ctx context.Context, name string) ([]byte, error)
}

// partRef is the name that references to a part have. It is enough to read the part.
type partRef struct {
	execution ID
	number    [16]byte // random
	key       [32]byte // random, of AES-256
}

const partRefSize = len(ID{}) + 16 + 32

func newPartRef(execution ID) partRef {
	ref := partRef{execution: execution}
	_, _ = rand.Read(ref.number[:]) // never fails
	_, _ = rand.Read(ref.key[:])
	return ref
}

// parsePartRef parses the name of a part. ok is false for the name of a log.
func parsePartRef(name string) (ref partRef, ok bool) {
	if len(name) != partRefSize {
		return ref, false
	}
	rest := name[copy(ref.execution[:], name):]
	rest = rest[copy(ref.number[:], rest):]
	copy(ref.key[:], rest)
	return ref, true
}

func (p partRef) String() string {
	return string(p.execution[:]) + string(p.number[:]) + string(p.key[:])
}

// objectName is the name of the part in the store. If a token has the part, it begins with the id
// of the token's log. Otherwise it begins with the execution's id, also for a part of a lane.
func (p partRef) objectName() string {
	return p.execution.String() + "/" + hex.EncodeToString(p.number[:])
}

// cipher returns the cipher for the part. Its key encrypts nothing else, so the nonce is always the
// same.
func (p partRef) cipher() (c cipher.AEAD, nonce []byte) {
	block, err := aes.NewCipher(p.key[:])
	if err == nil {
		c, err = cipher.NewGCM(block)
	}
	if err != nil {
		panic(err) // for keys of another length only
	}
	return c, make([]byte, c.NonceSize())
}

func (p partRef) seal(body []byte) []byte {
	c, nonce := p.cipher()
	return c.Seal(nil, nonce, body, []byte(p.objectName()))
}

// encode encodes an item. Its parts must be stored before the item.
func (c *core) encode(item *Item, s machine.State, events []machine.Event) (parts []value.Part, large bool) {
	execution := item.Execution
	if s.Lane != nil {
		execution = NewID(s.Flow.Name, s.Execution)
	}
	e := encoders.Get().(*itemEncoder)
	e.Origin, e.execution = item.origin(), execution
	if c.LargeValues != nil {
		e.Apart = &e.apart
	}
	item.Body, large = machine.EncodeWith(&e.Encoder, s, events)
	item.Rest = s.Rest()
	parts = e.apart.Parts
	e.Reset()
	e.apart = value.Apart{From: e.apart.From, Name: e.apart.Name}
	encoders.Put(e)
	return parts, large
}

// itemEncoder encodes one item after the other, with the same memory.
type itemEncoder struct {
	value.Encoder
	apart     value.Apart
	execution ID
}

var encoders = sync.Pool{New: func() any {
	e := &itemEncoder{}
	e.apart = value.Apart{From: machine.ApartFrom, Name: func() string { return newPartRef(e.execution).String() }}
	return e
}}

// storeParts stores the parts of the items that are committed next. If that is never committed,
// they are of no use to anyone and expire.
func (c *core) storeParts(ctx context.Context, parts []value.Part, expires time.Time) error {
	for _, part := range parts {
		ref, _ := parsePartRef(part.Name)
		if err := c.LargeValues.StoreValue(ctx, ref.objectName(), ref.seal(part.Body), expires); err != nil {
			return fmt.Errorf("store a large value of execution %s: %w", ref.execution, err)
		}
	}
	return nil
}

// keepApart returns the value in a form that a token's record and a message hold: a large one as a
// reference to a part, which expires with the token or later.
func (c *core) keepApart(ctx context.Context, handle string, v value.Value) (value.Value, error) {
	id, ok := token.HandleID(handle)
	if c.LargeValues == nil || v.Size() <= machine.MaxData || !ok {
		return v, nil
	}
	e := &value.Encoder{Apart: &value.Apart{From: machine.ApartFrom, Name: func() string { return newPartRef(id.Execution).String() }}}
	e.Value(v)
	if err := c.storeParts(ctx, e.Apart.Parts, c.Limits.TokenPartExpiry(id.Expires, c.Now())); err != nil {
		return value.Value{}, err
	}
	return value.NewDecoder(e.Bytes()).Value(), nil
}

// withInput returns the task with its input.
func (c *core) withInput(ctx context.Context, task Task) (Task, error) {
	if task.LargeInput == "" {
		return task, nil
	}
	d, loader := value.NewDecoder([]byte(task.LargeInput)), c.newValueLoader()
	task.Call.Input, task.LargeInput = d.Value(), ""
	if d.Err() != nil {
		return task, defect("read a task", d.Err())
	}
	return task, loader.fill(ctx, &task.Call.Input)
}

// loadParts loads the values of references to parts, and returns the other references.
func (l *valueLoader) loadParts(ctx context.Context, refs []value.Ref) (others []value.Ref, err error) {
	for _, ref := range refs {
		part, ok := parsePartRef(ref.Log)
		if !ok {
			others = append(others, ref)
			continue
		}
		numbered, err := l.part(ctx, part)
		if err != nil {
			return nil, err
		}
		if l.loaded[ref], ok = numbered(ref.Number); !ok {
			return nil, part.unreadable(errors.New("it does not have what refers to it"))
		}
	}
	return others, nil
}

// part returns the values of a part by their numbers.
func (l *valueLoader) part(ctx context.Context, ref partRef) (func(uint32) (value.Value, bool), error) {
	if numbered, ok := l.parts[ref]; ok {
		return numbered, nil
	}
	numbered, err := l.decoded.part(ref, func() (func(uint32) (value.Value, bool), int, error) { return l.readPart(ctx, ref) })
	if err != nil {
		return nil, err
	}
	if l.parts == nil {
		l.parts = map[partRef]func(uint32) (value.Value, bool){}
	}
	l.parts[ref] = numbered
	return numbered, nil
}

// readPart reads a part and returns its values by their numbers, and its size.
func (l *valueLoader) readPart(ctx context.Context, ref partRef) (func(uint32) (value.Value, bool), int, error) {
	body, err := l.body(ctx, ref)
	if err != nil {
		return nil, 0, err
	}
	numbered, err := value.DecodePart(value.Part{Name: ref.String(), Body: body})
	if err != nil {
		return nil, 0, ref.unreadable(err)
	}
	return numbered, len(body), nil
}

// body returns the body of a part: from memory if this worker has just written it.
func (l *valueLoader) body(ctx context.Context, ref partRef) ([]byte, error) {
	for _, part := range l.written {
		if part.Name == ref.String() {
			return part.Body, nil
		}
	}
	if l.large == nil {
		return nil, &Error{CodeInternal, "read large value " + ref.objectName(), errNoLargeValues}
	}
	data, err := l.large.LoadValue(ctx, ref.objectName())
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, ref.unreadable(errors.New("it is missing; restore it in the store for large values"))
	case err != nil:
		return nil, fmt.Errorf("read large value %s: %w", ref.objectName(), err)
	}
	opener, nonce := ref.cipher()
	body, err := opener.Open(nil, nonce, data, []byte(ref.objectName()))
	if err != nil {
		return nil, ref.unreadable(errors.New("it is damaged; restore it in the store for large values"))
	}
	return body, nil
}

var errNoLargeValues = errors.New("there is no store for large values; configure the one with which the execution was started")

// unreadable reports a part that cannot be read, which is a defect (rule 13).
func (p partRef) unreadable(err error) error { return defect("read large value "+p.objectName(), err) }
