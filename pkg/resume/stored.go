package resume

import (
	"errors"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/value"
)

// storedFormat is the format number of each of the forms below.
const storedFormat = 1

// ErrDamaged says that bytes are not what one of the encoders here wrote.
var ErrDamaged = errors.New("resume: what is kept of a wait is damaged or of a newer release")

// encode writes fields, which are pointers, in their order.
func encode(e *value.Encoder, fields []any) {
	for _, field := range fields {
		switch f := field.(type) {
		case *string:
			e.Text(*f)
		case *[]byte:
			e.Text(string(*f))
		case *time.Time:
			e.Time(*f)
		}
	}
}

// decode reads what encode wrote into the same fields.
func decode(d *value.Decoder, fields []any) {
	for _, field := range fields {
		switch f := field.(type) {
		case *string:
			*f = d.Text()
		case *[]byte:
			if text := d.Text(); text != "" {
				*f = []byte(text)
			}
		case *time.Time:
			*f = d.Time()
		}
	}
}

// store returns the fields in the form that stores keep.
func store(fields []any) []byte {
	var e value.Encoder
	e.Uint(storedFormat)
	encode(&e, fields)
	return e.Bytes()
}

// restore reads what store returned into the same fields.
func restore(data []byte, fields []any) error {
	d := value.NewDecoder(data)
	format := d.Uint()
	decode(d, fields)
	if d.Err() != nil || d.Rest() > 0 || format != storedFormat {
		return ErrDamaged
	}
	return nil
}

func (w *Waiter) fields() []any { return []any{&w.Run.BeginText, &w.Run.Since, &w.JobID} }

// Encode returns the waiter without its handle, in the form that stores keep.
func (w Waiter) Encode() []byte { return store(w.fields()) }

// DecodeWaiter reads what [Waiter.Encode] wrote of the waiter with that handle.
func DecodeWaiter(handle string, data []byte) (Waiter, error) {
	w := Waiter{Handle: handle}
	err := restore(data, w.fields())
	return w, err
}

func fieldsOfEnd(end *jobs.Sighting) []any {
	return []any{(*string)(&end.Status), &end.At, &end.BeginText, &end.Began, (*[]byte)(&end.Output), &end.Error, &end.Cause}
}

// EncodeEnd returns the end, without its Word, in the form that stores keep.
func EncodeEnd(end jobs.Sighting) []byte { return store(fieldsOfEnd(&end)) }

// DecodeEnd reads what [EncodeEnd] wrote.
func DecodeEnd(data []byte) (end jobs.Sighting, err error) {
	err = restore(data, fieldsOfEnd(&end))
	return end, err
}

func (w *ExternalWait) fields() []any {
	own := append([]any{(*string)(&w.Recipient), &w.Sealed}, fieldsOfKey(&w.Job)...)
	return append(own, &w.JobID, &w.Opened, &w.Deadline, &w.Expires)
}

// Encode returns the wait without its handle and its delivery, in the form that
// stores keep.
func (w ExternalWait) Encode() []byte { return store(w.fields()) }

// DecodeExternalWait reads what [ExternalWait.Encode] wrote of the wait with that
// handle.
func DecodeExternalWait(handle string, data []byte) (ExternalWait, error) {
	w := ExternalWait{Handle: handle}
	err := restore(data, w.fields())
	return w, err
}

func fieldsOfKey(key *jobs.Key) []any { return []any{&key.Kind, &key.Account, &key.Region, &key.Name} }

// EncodeKey writes the key of a job so that no two keys are the same bytes.
func EncodeKey(e *value.Encoder, key jobs.Key) { encode(e, fieldsOfKey(&key)) }

// DecodeKey reads what [EncodeKey] wrote.
func DecodeKey(d *value.Decoder) (key jobs.Key) {
	decode(d, fieldsOfKey(&key))
	return key
}
