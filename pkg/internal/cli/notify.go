package cli

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/webhook"
)

// errUnsigned is the error of a target without a secret.
var errUnsigned = errors.New("notices are signed, and there is no secret for that; set " + notifyVariable + " of waitless dev to " +
	"whsec_ and 24 to 64 bytes in base64")

const notifyUsage = "a URL that is told of the end, or on a stack an ARN: https://..., or @FILE with one (see: waitless docs notify)"

// registerNotify adds the flags of a target.
func registerNotify(flags *pflag.FlagSet, notify *machine.Notify, usage string) {
	flags.StringVar(&notify.Target, "notify", "", usage)
	flags.BoolVar(&notify.Waits, "notify-waits", false, "tell --notify also of each step that begins to wait for a callback")
}

// readTarget reads the target of a flag, which may be in a file: everybody may see arguments.
func (c Command) readTarget(ctx context.Context, notify *machine.Notify) error {
	const try = "--notify https://HOST/PATH"
	if notify.Target == "" {
		if notify.Waits {
			return view.Usage("--notify-waits needs --notify", try)
		}
		return nil
	}
	target, err := c.readText(ctx, "--notify", notify.Target, try)
	if err != nil {
		return err
	}
	notify.Target = strings.TrimSpace(string(target))
	return nil
}

// readNotify reads the notification target of executions that name none.
func (s *server) readNotify(ctx context.Context) error {
	if err := s.readTarget(ctx, &s.notify); err != nil || s.notify.Target == "" {
		return err
	}
	err := engine.CheckURL(s.notify.Target, true)
	if err == nil && len(s.signs) == 0 {
		err = errUnsigned
	}
	if err != nil {
		return view.Usage(err.Error(), "--notify https://HOST/PATH, with "+notifyVariable)
	}
	return nil
}

// noticeSender sends notices and logs discarded notices. It implements [local.NoticeSender].
type noticeSender struct {
	sender *webhook.Sender
	server *server
}

// Send implements [local.NoticeSender].
func (n noticeSender) Send(ctx context.Context, notice engine.Notice) error {
	err := n.sender.Send(ctx, notice)
	if errors.Is(err, webhook.ErrGone) {
		return local.ErrTargetGone
	}
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) { // else the process ends
		n.log("a notice was not accepted; it is sent again", notice, err)
	}
	return err
}

// GaveUp implements [local.NoticeSender].
func (n noticeSender) GaveUp(notice engine.Notice, why error) {
	n.log("a notice was given up", notice, why)
}

func (n noticeSender) log(message string, notice engine.Notice, why error) {
	var body struct {
		Data struct{ Flow, Execution string }
	}
	_ = json.Unmarshal([]byte(notice.Body), &body) // the engine wrote it
	execution := body.Data.Flow + "/" + body.Data.Execution
	n.server.log.Warn(message, "execution", execution, "notice", notice.ID, "target", engine.ShownTarget(notice.Target), "error", why.Error())
}
