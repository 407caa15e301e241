package sim

import (
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/token"
)

// store keeps the logs of the execution and of its lanes, and what is known of tokens.
type store struct {
	logs    map[engine.ID]*log
	order   []*log              // in which they were known
	stop    *engine.StopRequest // nil before a stop was requested
	joins   map[engine.ForkID]engine.JoinRecord
	older   map[engine.ForkID]engine.JoinRecord // the records before their last changes
	roots   map[engine.ID]engine.RootRecord
	records map[string][]stored // by handle, in the order of their changes
}

// stored is a record since an instant, encoded, so that it is not shared.
type stored struct {
	at      time.Duration
	encoded []byte
}

// instant is how old what is read may be. A store that answers with what it had
// some time ago is no store of ours: mutants have one.
type instant time.Duration

const present instant = 1 << 62

// record changes what is known of a token in one step and answers it.
func (s *store) record(handle string, now time.Duration, change func(token.Record) token.Record) (token.Record, error) {
	r, err := s.recordAt(handle, present)
	if err != nil {
		return r, err
	}
	r = change(r)
	s.records[handle] = append(s.records[handle], stored{now, r.Encode()})
	return r, nil
}

// recordAt is what was known of a token at an instant.
func (s *store) recordAt(handle string, at instant) (token.Record, error) {
	for _, version := range slices.Backward(s.records[handle]) {
		if instant(version.at) <= at {
			return token.DecodeRecord(version.encoded)
		}
	}
	return token.Record{}, nil
}

// changeJoin changes a join record and returns it.
func (s *store) changeJoin(fork engine.ForkID, change func(engine.JoinRecord) engine.JoinRecord) engine.JoinRecord {
	before := s.joined(fork)
	s.older[fork], s.joins[fork] = before, change(before)
	return s.joins[fork]
}

func (s *store) joined(fork engine.ForkID) engine.JoinRecord {
	if record, ok := s.joins[fork]; ok {
		return record
	}
	return engine.NewJoinRecord()
}

// closed is when the token was closed. Not ok: it is open.
func (s *store) closed(handle string) (at time.Duration, ok bool) {
	for _, version := range s.records[handle] {
		if r, err := token.DecodeRecord(version.encoded); err == nil && !r.Open() {
			return version.at, true
		}
	}
	return 0, false
}

func beat(at time.Time) func(token.Record) token.Record {
	return func(r token.Record) token.Record { return r.Beat(at) }
}
