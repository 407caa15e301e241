package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

// Outbox keeps notices until they are sent, and failed notices as long as their execution.
type Outbox interface {
	// AddNotice adds a notice and returns it. A notice that is there stays, unless it was given up:
	// then it is to be sent again.
	AddNotice(ctx context.Context, notice Notice) (Notice, error)
	// SettleNotice removes a notice that was sent, or keeps the failure of a notice that was given
	// up.
	SettleNotice(ctx context.Context, notice Notice) error
	// Notice returns the notice of an execution with that ID, the zero value if it is not there.
	Notice(ctx context.Context, execution engine.ID, id string) (Notice, error)
	// Notices returns notices in pages, without their bodies: at most limit of those after a
	// notice. A notice without an ID stands for the notice of an end which was committed and not
	// reported.
	Notices(ctx context.Context, after Notice, limit int) ([]Notice, error)
	// NoticesOf returns the notices of an execution that were not sent.
	NoticesOf(ctx context.Context, execution engine.ID) ([]Notice, error)
}

// Notice is a notice in a store.
type Notice struct {
	engine.Notice

	Since time.Time // when it was added
	// Failure is the reason why it was given up, empty for a notice that is to be sent.
	Failure string
}

func (n Notice) key() []byte { return append(idKey(keyNotice, n.Execution), n.ID...) }

// noticeForm is how notices are stored.
var noticeForm = form[Notice]{
	decode: func(stored []byte) (n Notice, err error) {
		if json.Unmarshal(stored, &n) != nil {
			err = damaged("a notice")
		}
		return n, err
	},
	encode: func(n Notice) []byte {
		if n.ID == "" {
			return nil
		}
		encoded, _ := json.Marshal(n) // it has texts and instants
		return encoded
	},
	index: func(_ []byte, _, after Notice) []Entry {
		if !after.Ended {
			return nil
		}
		return []Entry{{untold(after.Execution).Key, nil}}
	},
}

// untold is what stands for the notice of an end from the terminal item on until there is the
// notice.
func untold(execution engine.ID) Entry {
	none := Notice{Notice: engine.Notice{Execution: execution}}
	encoded, _ := json.Marshal(none) // it has texts and instants
	return Entry{none.key(), encoded}
}

// AddNotice implements [Outbox].
func (s *Keyed) AddNotice(ctx context.Context, notice Notice) (Notice, error) {
	return noticeForm.change(ctx, s, "add a notice", notice.key(), func(there Notice) Notice {
		if there.ID != "" && there.Failure == "" {
			return there
		}
		return notice
	})
}

// SettleNotice implements [Outbox].
func (s *Keyed) SettleNotice(ctx context.Context, notice Notice) error {
	_, err := noticeForm.change(ctx, s, "settle a notice", notice.key(), func(there Notice) Notice {
		if there.ID == "" || notice.Failure == "" { // one of an execution that was removed is gone
			return Notice{}
		}
		return notice
	})
	return err
}

// Notice implements [Outbox].
func (s *Keyed) Notice(ctx context.Context, execution engine.ID, id string) (Notice, error) {
	key := Notice{Notice: engine.Notice{Execution: execution, ID: id}}.key()
	return noticeForm.read(ctx, s, "read a notice", key)
}

// Notices implements [Outbox].
func (s *Keyed) Notices(ctx context.Context, after Notice, limit int) ([]Notice, error) {
	lower := []byte{keyNotice}
	if after.Execution != (engine.ID{}) {
		lower = append(after.key(), 0)
	}
	return s.noticesIn(ctx, Range{lower, []byte{keyNotice + 1}}, limit, true)
}

// NoticesOf implements [Outbox].
func (s *Keyed) NoticesOf(ctx context.Context, execution engine.ID) ([]Notice, error) {
	return s.noticesIn(ctx, ofLog(keyNotice, execution), pageSize, false)
}

func (s *Keyed) noticesIn(ctx context.Context, in Range, limit int, withoutBodies bool) ([]Notice, error) {
	return read(ctx, s, operation{name: "list notices"}, func() (list []Notice, err error) {
		for _, stored := range s.db.Entries(in, &err) {
			if len(list) == limit {
				break
			}
			notice, err := noticeForm.decode(stored)
			if err != nil {
				return nil, err
			}
			if withoutBodies {
				notice.Body = ""
			}
			list = append(list, notice)
		}
		return list, err
	})
}
