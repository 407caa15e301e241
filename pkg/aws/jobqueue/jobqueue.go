package jobqueue

import (
	"context"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/aws/queue"
	"github.com/waitless/waitless/pkg/resume"
)

// Queue is the queue, for those who send polls. It implements [resume.Polls].
// All fields are required.
type Queue struct {
	Client queue.Sender
	URL    string
	Now    func() time.Time
}

// Send implements [resume.Polls]. A poll that is due later than a message can
// be delayed comes earlier, and [resume.JobObserver.Reconcile] sends it again.
func (q *Queue) Send(ctx context.Context, poll resume.Poll) error {
	body, err := encode(poll)
	if err == nil {
		err = queue.Send(ctx, q.Client, q.URL, body, min(poll.Due.Sub(q.Now()), queue.LongestDelay))
	}
	if err != nil {
		return fmt.Errorf("send a poll of job %s: %w", poll.Key.Name, err)
	}
	return nil
}
