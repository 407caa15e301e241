package parts_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/aws/parts"
)

// rules: NO-3 NO-5 NO-7
func TestTargetsOfAStack(t *testing.T) {
	t.Parallel()
	const queue, topic = "arn:aws:sqs:eu-west-1:123456789012:q", "arn:aws:sns:eu-west-1:123456789012:t"
	variables := map[string]string{"WAITLESS_NOTIFY": queue, "WAITLESS_NOTIFY_SECRET": "arn:secret", "WAITLESS_NOTIFY_TARGETS": queue + ",arn:other"}
	signed := parts.New(func(name string) string { return variables[name] }, slog.Default())
	unsigned := parts.New(func(string) string { return "" }, slog.Default())
	preset, check := signed.Notify()
	none, checkUnsigned := unsigned.Notify()
	if preset.Target != queue || none.Target != "" {
		t.Errorf("the default targets are %q and %q", preset.Target, none.Target)
	}
	for target, want := range map[string]struct{ signed, unsigned string }{
		"https://example.org/s3cret": {"", "NotifySecret"},
		"http://example.org/s3cret":  {"not encrypted", "NotifySecret"},
		"http://127.0.0.1/s3cret":    {"not encrypted", "NotifySecret"},
		queue:                        {"", "NotifyTargets"},
		topic:                        {"NotifyTargets", "NotifyTargets"},
	} {
		for want, check := range map[string]func(string) error{"1" + want.signed: check, "2" + want.unsigned: checkUnsigned} {
			err := check(target)
			if want = want[1:]; (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("%s: error %v, want %q", target, err, want)
			}
		}
	}
}

// rules: NO-3 NO-7
func TestDefaultTargetInASecret(t *testing.T) {
	t.Parallel()
	const preset, other = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:hook-AbCdEf", "arn:aws:secretsmanager:eu-west-1:123456789012:secret:other-AbCdEf"
	for name, tt := range map[string]struct {
		signed, target, want string
	}{
		"the secret of Notify": {"arn:secret", preset, ""},
		"another secret":       {"arn:secret", other, "NotifyTargets"},
		"no signing secret":    {"", preset, "NotifyTargets"},
	} {
		variables := map[string]string{"WAITLESS_NOTIFY": preset, "WAITLESS_NOTIFY_SECRET": tt.signed}
		got, check := parts.New(func(name string) string { return variables[name] }, slog.Default()).Notify()
		err := check(tt.target)
		if got.Target != preset || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: default %q, error %v, want %q", name, got.Target, err, tt.want)
		}
	}
}
