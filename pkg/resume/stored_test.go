package resume_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/internal/suite/releasetest"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/value"
)

var (
	storedAt  = time.Date(2026, 1, 31, 10, 0, 0, 123456789, time.UTC)
	storedKey = jobs.Key{Kind: "batch-job", Account: "123456789012", Region: "eu-central-1", Name: "arn:aws:batch:eu-central-1:123456789012:job/a"}
)

// storedForm is what is stored, in its form, and how it is read.
type storedForm struct {
	value  any
	stored []byte
	read   func(data []byte) (any, error)
}

var storedForms = map[string]storedForm{
	"a waiter":        storedAs(resume.Waiter{Handle: "EQEB", Run: jobs.Run{BeginText: "run", Since: storedAt}, JobID: "id"}),
	"an empty waiter": storedAs(resume.Waiter{Handle: "EQEB"}),
	"a failure":       storedAs(jobs.Sighting{Status: jobs.StatusFailed, At: storedAt, Error: "Job.Failed", Cause: "\x00 é"}),
	"a success": storedAs(jobs.Sighting{
		Status: jobs.StatusSuccess, At: storedAt, BeginText: "run", Began: storedAt.Add(-1), Output: json.RawMessage(`{"a":1}`),
	}),
	"an external wait": storedWait(resume.ExternalWait{
		Handle: "EQEB", Recipient: resume.RecipientDurable, Sealed: []byte{0, 255}, Job: storedKey, JobID: "id",
		Opened: storedAt, Deadline: storedAt.Add(1), Expires: storedAt.Add(2),
	}),
	"an empty external": storedWait(resume.ExternalWait{Handle: "EQEB", Sealed: []byte{}}),
}

func storedAs[T any](v T) storedForm {
	return storedForm{v, resume.Encode(v), func(data []byte) (any, error) { return resume.Decode[T](data) }}
}

func storedWait(w resume.ExternalWait) storedForm {
	return storedForm{w, w.Encode(), func(data []byte) (any, error) { return resume.DecodeExternalWait(w.Handle, data) }}
}

func TestWhatIsStoredComesBack(t *testing.T) {
	t.Parallel()
	for name, form := range storedForms {
		if got, err := form.read(form.stored); err != nil || !reflect.DeepEqual(got, form.value) {
			t.Errorf("%s came back as %+v, error %v; want %+v", name, got, err, form.value)
		}
	}
}

// TestFormOfWaits: a store of the recorded release has these bytes.
func TestFormOfWaits(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(storedForms)) {
		fmt.Fprintf(&lines, "%s: %+q\n", name, storedForms[name].stored)
	}
	var e value.Encoder
	resume.EncodeKey(&e, storedKey)
	fmt.Fprintf(&lines, "a key: %+q\n", e.Bytes())
	releasetest.Stored(t, "testdata/waits.v1.txt", lines.String())
}

func TestWhatIsDamagedIsRefused(t *testing.T) {
	t.Parallel()
	for name, form := range storedForms {
		newer := append([]byte{2}, form.stored[1:]...)
		damaged := [][]byte{nil, newer, append(form.stored[:len(form.stored):len(form.stored)], 0)}
		for size := range form.stored {
			damaged = append(damaged, form.stored[:size])
		}
		for _, data := range damaged {
			if got, err := form.read(data); !errors.Is(err, resume.ErrDamaged) {
				t.Errorf("%s: %x was read as %+v, error %v", name, data, got, err)
			}
		}
	}
}

func TestTheKeysOfTwoJobsAreNeverTheSameBytes(t *testing.T) {
	t.Parallel()
	seen := map[string]jobs.Key{}
	for _, key := range []jobs.Key{
		{}, storedKey, {Kind: "a:b"}, {Kind: "a", Account: "b"}, {Kind: "a", Account: ":b"}, {Account: "a", Region: "b"}, {Name: "ab"},
	} {
		var e value.Encoder
		resume.EncodeKey(&e, key)
		if other, known := seen[string(e.Bytes())]; known {
			t.Errorf("%+v has the bytes of %+v", key, other)
		}
		seen[string(e.Bytes())] = key
		if got := resume.DecodeKey(value.NewDecoder(e.Bytes())); got != key {
			t.Errorf("%+v came back as %+v", key, got)
		}
	}
}
