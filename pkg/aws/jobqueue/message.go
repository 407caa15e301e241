package jobqueue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// version is that of the polls that this release sends.
const version = 1

// message is either of the two: what is a poll has a version, and an event has
// a source.
type message struct {
	Version int   `json:"v,omitempty"`
	Poll    *poll `json:"poll,omitempty"`

	ID         string `json:"id,omitempty"`
	Source     string `json:"source,omitempty"`
	DetailType string `json:"detail-type,omitempty"`
}

// poll is a [resume.Poll] in the queue.
type poll struct {
	Kind     string    `json:"kind"`
	Account  string    `json:"account"`
	Region   string    `json:"region"`
	Name     string    `json:"name"`
	JobID    string    `json:"job_id"`
	Handle   string    `json:"handle"`
	Run      string    `json:"run,omitempty"`
	Since    time.Time `json:"since"`
	Number   int       `json:"number"`
	Due      time.Time `json:"due"`
	Deadline time.Time `json:"deadline,omitzero"`
	MAC      string    `json:"mac"`
}

// errHandle does not repeat the text: it may be a secret.
var errHandle = errors.New("what names the token is no token's handle")

// encode is the poll as a message. Whatever a key may hold, SQS takes it: of
// the characters that JSON may have, it refuses two.
func encode(p resume.Poll) (string, error) {
	if _, ok := token.HandleID(p.Waiter.Handle); !ok {
		return "", errHandle
	}
	body, err := json.Marshal(message{Version: version, Poll: &poll{
		p.Key.Kind, p.Key.Account, p.Key.Region, p.Key.Name, p.JobID, p.Waiter.Handle, p.Waiter.Run.Name, p.Waiter.Run.Since.UTC(),
		p.Number, p.Due.UTC(), p.Deadline, p.MAC,
	}})
	body = bytes.ReplaceAll(bytes.ReplaceAll(body, []byte("\ufffe"), []byte(`\ufffe`)), []byte("\uffff"), []byte(`\uffff`))
	return string(body), err
}

var (
	// errNewer says that a newer release can read it.
	errNewer = errors.New("a newer release wrote it")
	errOther = errors.New("it is neither a job event nor a poll")
)

// read reads a message. A job event has no poll.
func read(body string) (message, error) {
	var m message
	err := json.Unmarshal([]byte(body), &m)
	switch {
	case m.Version > version:
		return m, fmt.Errorf("it has version %d and the limit is %d: %w", m.Version, version, errNewer)
	case err != nil:
		return m, errors.New("it is not the JSON of a job event or of a poll")
	case m.Version == 0 && m.Source != "" && m.DetailType != "":
		m.Poll = nil
		return m, nil
	case m.Version != version || m.Poll == nil:
		return m, errOther
	}
	if _, ok := token.HandleID(m.Poll.Handle); !ok {
		return m, errHandle
	}
	return m, nil
}

func (p *poll) poll() resume.Poll {
	return resume.Poll{
		Key: jobs.Key{Kind: p.Kind, Account: p.Account, Region: p.Region, Name: p.Name}, JobID: p.JobID,
		Waiter: resume.Waiter{Handle: p.Handle, Run: jobs.Run{Name: p.Run, Since: p.Since}},
		Number: p.Number, Due: p.Due, Deadline: p.Deadline, MAC: p.MAC,
	}
}
