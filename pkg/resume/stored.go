package resume

import (
	"encoding/json"
	"errors"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/value"
)

// storedFormat is the format number of each of the forms below.
const storedFormat = 1

// ErrDamaged says that bytes are not what one of the encoders here wrote.
var ErrDamaged = errors.New("resume: what is kept of a wait is damaged or of a newer release")

// Encode returns the waiter without its handle, in the form that stores keep.
func (w Waiter) Encode() []byte {
	var e value.Encoder
	e.Uint(storedFormat)
	e.Text(w.Run.BeginText)
	e.Time(w.Run.Since)
	e.Text(w.JobID)
	return e.Bytes()
}

// DecodeWaiter reads what [Waiter.Encode] wrote of the waiter with that handle.
func DecodeWaiter(handle string, data []byte) (Waiter, error) {
	d := value.NewDecoder(data)
	format := d.Uint()
	w := Waiter{Handle: handle, Run: jobs.Run{BeginText: d.Text(), Since: d.Time()}, JobID: d.Text()}
	if damaged(d, format) {
		return Waiter{}, ErrDamaged
	}
	return w, nil
}

// EncodeEnd returns the end, without its Word, in the form that stores keep.
func EncodeEnd(end jobs.Sighting) []byte {
	var e value.Encoder
	e.Uint(storedFormat)
	e.Text(string(end.Status))
	e.Time(end.At)
	e.Text(end.BeginText)
	e.Time(end.Began)
	e.Text(string(end.Output))
	e.Text(end.Error)
	e.Text(end.Cause)
	return e.Bytes()
}

// DecodeEnd reads what [EncodeEnd] wrote.
func DecodeEnd(data []byte) (jobs.Sighting, error) {
	d := value.NewDecoder(data)
	format := d.Uint()
	end := jobs.Sighting{Status: jobs.Status(d.Text()), At: d.Time(), BeginText: d.Text(), Began: d.Time()}
	if output := d.Text(); output != "" {
		end.Output = json.RawMessage(output)
	}
	end.Error, end.Cause = d.Text(), d.Text()
	if damaged(d, format) {
		return jobs.Sighting{}, ErrDamaged
	}
	return end, nil
}

// Encode returns the wait without its handle and its delivery, in the form that
// stores keep.
func (w ExternalWait) Encode() []byte {
	var e value.Encoder
	e.Uint(storedFormat)
	e.Text(string(w.Recipient))
	e.Text(string(w.Sealed))
	EncodeKey(&e, w.Job)
	e.Text(w.JobID)
	e.Time(w.Opened)
	e.Time(w.Deadline)
	e.Time(w.Expires)
	return e.Bytes()
}

// DecodeExternalWait reads what [ExternalWait.Encode] wrote of the wait with that
// handle.
func DecodeExternalWait(handle string, data []byte) (ExternalWait, error) {
	d := value.NewDecoder(data)
	format := d.Uint()
	w := ExternalWait{Handle: handle, Recipient: Recipient(d.Text())}
	if sealed := d.Text(); sealed != "" {
		w.Sealed = []byte(sealed)
	}
	w.Job, w.JobID = DecodeKey(d), d.Text()
	w.Opened, w.Deadline, w.Expires = d.Time(), d.Time(), d.Time()
	if damaged(d, format) {
		return ExternalWait{}, ErrDamaged
	}
	return w, nil
}

// EncodeKey writes the key of a job so that no two keys are the same bytes.
func EncodeKey(e *value.Encoder, key jobs.Key) {
	for _, part := range []string{key.Kind, key.Account, key.Region, key.Name} {
		e.Text(part)
	}
}

// DecodeKey reads what [EncodeKey] wrote.
func DecodeKey(d *value.Decoder) jobs.Key {
	return jobs.Key{Kind: d.Text(), Account: d.Text(), Region: d.Text(), Name: d.Text()}
}

func damaged(d *value.Decoder, format uint64) bool {
	return d.Err() != nil || d.Rest() > 0 || format != storedFormat
}
