package redact_test

import (
	"testing"

	"github.com/waitless/waitless/pkg/aws/call/redact"
)

func TestMessageHasNoSecrets(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"User: arn:aws:iam::123456789012:user/me is not authorized": "User: arn:aws:iam::123456789012:user/me is not authorized",
		"The request signature we calculated does not match the signature you provided.\n\nThe Canonical String for this request " +
			"should have been\n'POST\n/\n\nx-amz-security-token:FwoGZXIvYXdzEBYaD": "The request signature we calculated does not match the signature you provided.",
		"Authorization header requires 'Signature' parameter. Authorization=AWS4-HMAC-SHA256 Credential=A": "Authorization header requires 'Signature' parameter.",
	} {
		if got := redact.Message(message); got != want {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
}
