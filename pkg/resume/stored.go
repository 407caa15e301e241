package resume

import (
	"encoding/json"
	"errors"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/value"
)

// storedFormat is the format number of stored records.
const storedFormat = 1

// ErrDamaged says that bytes are not the output of [Encode].
var ErrDamaged = errors.New("resume: what is kept of a wait is damaged or of a newer release")

// Encode returns a [Waiter], an end of a job or a [JobRecord] in the form that stores keep: the
// number of the format, and JSON.
func Encode(v any) []byte {
	text, _ := json.Marshal(v) // they have a JSON text
	return append([]byte{storedFormat}, text...)
}

// Decode reads the output of [Encode].
func Decode[T any](data []byte) (v T, err error) {
	if len(data) == 0 || data[0] != storedFormat || json.Unmarshal(data[1:], &v) != nil {
		return v, ErrDamaged
	}
	return v, nil
}

// Encode returns the wait without its handle and its delivery, in the form that stores keep. It is
// binary: with the sealed token, JSON would not fit into one write of a table.
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

// DecodeExternalWait reads the output of [ExternalWait.Encode] for the wait with the handle.
func DecodeExternalWait(handle string, data []byte) (ExternalWait, error) {
	d := value.NewDecoder(data)
	format := d.Uint()
	w := ExternalWait{
		Handle: handle, Recipient: Recipient(d.Text()), Sealed: []byte(d.Text()), Job: DecodeKey(d), JobID: d.Text(),
		Opened: d.Time(), Deadline: d.Time(), Expires: d.Time(),
	}
	if d.Err() != nil || d.Rest() > 0 || format != storedFormat {
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

// DecodeKey reads the output of [EncodeKey].
func DecodeKey(d *value.Decoder) jobs.Key {
	return jobs.Key{Kind: d.Text(), Account: d.Text(), Region: d.Text(), Name: d.Text()}
}
