package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// maxNoticeOutput is the most bytes of an output in a notice. A larger one is left out.
const maxNoticeOutput = 32 << 10

// maxTarget is the most bytes of a target: a URL has about as many at most everywhere.
const maxTarget = 2048

// checkNotify returns why a target cannot be told. None is not an error.
func (c *Client) checkNotify(asked machine.Notify) error {
	switch {
	case asked.Target == "" && asked.Waits:
		return errors.New("notifyWaits needs the target of notify")
	case asked.Target == "":
		return nil
	case len(asked.Target) > maxTarget:
		return fmt.Errorf("the target of notify has %d bytes and the limit is %d", len(asked.Target), maxTarget)
	case c.core.CheckTarget == nil:
		return errors.New("notices cannot be sent from here; leave out notify")
	}
	return c.core.CheckTarget(asked.Target)
}

// SetNotify sets the Notify of a definition for executions that start without a target; see
// [Flows].
func (c *Client) SetNotify(ctx context.Context, flow machine.FlowRef, notify machine.Notify) error {
	if err := c.checkNotify(notify); err != nil {
		return &Error{CodeInvalid, "put flow " + flow.Name, err}
	}
	return c.core.Flows.SetNotify(ctx, flow, notify)
}

// CheckURL returns an error unless notices can be sent to the URL: one with https, or, if local is
// true, with http to a loopback address. If local is false, the host must not be localhost or a
// private address; a name is not looked up. Its errors do not repeat the URL, which may have
// secrets.
func CheckURL(target string, local bool) error {
	parsed, err := url.Parse(target)
	switch {
	case err != nil, parsed.Hostname() == "", parsed.Opaque != "":
		return errors.New("the target of notify is not a URL; allowed: https://HOST/PATH")
	case parsed.User != nil, parsed.Fragment != "":
		return errors.New("the target of notify has a user or a fragment (#...); leave it out: a notice is signed")
	case parsed.Scheme == "https" && !local && isPrivate(parsed.Hostname()):
		return errors.New("the target of notify has a private address; use a host that the internet reaches")
	case parsed.Scheme == "https", parsed.Scheme == "http" && local && (parsed.Hostname() == "localhost" || net.ParseIP(parsed.Hostname()).IsLoopback()):
		return nil
	case local:
		return errors.New("the target of notify is not encrypted; allowed: https://HOST/PATH, or http:// with a loopback address")
	}
	return errors.New("the target of notify is not encrypted; allowed: https://HOST/PATH")
}

// isPrivate reports whether the host is this machine by its name, or an address that is not public.
func isPrivate(host string) bool {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	ip, err := netip.ParseAddr(name)
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || err == nil && !IsPublic(ip)
}

// notPublic are ranges that [netip.Addr] does not tell from public ones: this network, shared by
// carriers, for protocols and tests of networks, reserved; and the ranges of IPv6 that stand for an
// address of IPv4.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("2002::/16"),
}

// unicast6 has the public addresses of IPv6, all that are assigned.
var unicast6 = netip.MustParsePrefix("2000::/3")

// IsPublic reports whether the internet reaches the address.
func IsPublic(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	isPublic := ip.IsGlobalUnicast() && !ip.IsPrivate() && (ip.Is4() || unicast6.Contains(ip))
	for _, prefix := range notPublic {
		isPublic = isPublic && !prefix.Contains(ip)
	}
	return isPublic
}

// NoticePause returns the pause after the try with the given number, from 1, to send a notice: 5
// seconds, then twice the one before, an hour at most.
func NoticePause(try int) time.Duration {
	const first, doublings = 5 * time.Second, 10
	return min(first<<min(max(try-1, 0), doublings), time.Hour)
}

// ShownTarget returns a target without possible secrets: of a URL the host is left.
func ShownTarget(target string) string {
	parsed, err := url.Parse(target)
	switch {
	case strings.HasPrefix(target, "arn:"):
		return target
	case err != nil, parsed.Host == "":
		return "..."
	case parsed.Path == "" && parsed.RawQuery == "":
		return parsed.Scheme + "://" + parsed.Host
	}
	return parsed.Scheme + "://" + parsed.Host + "/..."
}

func (c *core) notifies(n machine.Notify) bool { return c.Notices != nil && n.Target != "" }

// notifyEnd tells the target of an execution that it has ended.
func (c reporter) notifyEnd(ctx context.Context, state machine.State) error {
	output := state.Output
	if output.Size() <= maxNoticeOutput {
		loader := c.newValueLoader()
		if err := loader.fill(ctx, &output); err != nil {
			return err
		}
	}
	data := noticeData(state, state.Status)
	if state.Error != "" || state.Cause != "" {
		data = append(data, member("error", state.Error), member("cause", state.Cause))
	}
	if !output.IsMissing() && output.IsComplete() && output.Size() <= maxNoticeOutput {
		data = append(data, value.Member{Key: "output", Value: output})
	}
	data = append(data, member("stoppedTime", instant(state.At)))
	return c.sendNotice(ctx, state, "end-"+state.ID().String(), "execution.ended", state.At, data)
}

// notifyWait tells the target of an execution, before the call, that the step of the call waits for
// a callback. A worker that dies before the call is recorded leaves both to the next one.
func (d *draft) notifyWait(ctx context.Context, call machine.Call) error {
	if _, isMade := d.results[call.Attempt]; isMade {
		return nil
	}
	return d.notifyWaiting(ctx)
}

// notifyWaiting sends a notice to the target of an execution if the execution waits for a callback.
// Each time the notice is the same.
func (d *draft) notifyWaiting(ctx context.Context) error {
	if !d.notifies(d.state.Notify) || !tellsWait(d.env.Flow, d.state) {
		return nil
	}
	waiting := d.state.Waiting
	step := d.env.Flow.All[waiting.Attempt.Step]
	data := append(noticeData(d.state, machine.StatusRunning), member("step", machine.StepIn(step.Name, machine.Iterations(step, d.state.ForkIndexes()))))
	if !waiting.Deadline.IsZero() { // not Due, which heartbeats change
		data = append(data, member("until", instant(waiting.Deadline)))
	}
	question, err := d.loader.question(ctx, step, *waiting)
	if err != nil {
		return err
	}
	if question != nil {
		data = append(data, value.Member{Key: "question", Value: question.Value()})
	}
	return d.sendNotice(ctx, d.state, "wait-"+d.state.WaitingKey(step), "execution.waiting", waiting.Since, data)
}

// tellsWait reports whether a state waits for a callback that its target is told of.
func tellsWait(def *flow.Flow, state machine.State) bool {
	if w := state.Waiting; state.Notify.Waits && w.Token() != nil && state.Ending == nil {
		task, isTask := def.All[w.Attempt.Step].Kind.(*flow.Task)
		return isTask && task.Pattern == flow.PatternWaitForCallback
	}
	return false
}

func member(key, text string) value.Member { return value.Member{Key: key, Value: value.String(text)} }

func instant(t time.Time) string { return t.UTC().Format(machine.TimeFormat) }

func noticeData(state machine.State, status machine.Status) []value.Member {
	return []value.Member{
		member("flow", state.Flow.Name), member("execution", state.Execution), member("status", string(status)),
		member("startedTime", instant(state.Started)),
	}
}

// sendNotice sends a notice. Its id has the start of the execution: another one may have had the
// name, a retention ago.
func (c *core) sendNotice(ctx context.Context, state machine.State, id, kind string, at time.Time, data []value.Member) error {
	body := value.Object(member("type", kind), member("timestamp", instant(at)), value.Member{Key: "data", Value: value.Object(data...)})
	err := c.Notices.Notify(ctx, Notice{
		Execution: NewID(state.Flow.Name, state.Execution), ID: fmt.Sprintf("%s-%d", id, state.Started.UnixMilli()), Target: state.Notify.Target,
		Body: token.MaskJSON(body.JSON()), Ended: state.Status.Final(),
	})
	return wrap("notify the target of execution "+state.ID().String(), err)
}
