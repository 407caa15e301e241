// Package webhook sends notices to URLs, signed as Standard Webhooks say.
//
// This package is not an API and may change between releases.
package webhook

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/waitless/waitless/pkg/engine"
)

// Secret signs notices.
type Secret struct{ webhook *standardwebhooks.Webhook }

// ParseSecrets reads secrets that are separated by spaces: each "whsec_" and 24 to 64 bytes in
// base64. A notice is signed with all of them, so a receiver may have either while one is being
// replaced. A text without secrets is not an error. Errors do not repeat a secret.
func ParseSecrets(text string) ([]Secret, error) {
	const minSize, maxSize = 24, 64
	var secrets []Secret
	for i, field := range strings.Fields(text) {
		encoded, ok := strings.CutPrefix(field, "whsec_")
		raw, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil || len(raw) < minSize || len(raw) > maxSize {
			return nil, fmt.Errorf("secret %d of notices cannot be read; allowed: whsec_ and 24 to 64 bytes in base64", i+1)
		}
		webhook, err := standardwebhooks.NewWebhookRaw(raw)
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, Secret{webhook})
	}
	return secrets, nil
}

// ErrGone means that the receiver wants no more notices.
var ErrGone = errors.New("the receiver responded with 410 Gone")

// Sender sends notices. It is safe for concurrent use.
type Sender struct {
	secrets []Secret
	client  *http.Client
	now     func() time.Time
}

// patience is the time limit of a request.
const patience = 15 * time.Second

// NewSender returns a sender that signs with the secrets. With onlyPublic it connects to no private
// address, whatever a name of a host resolves to, and uses no proxy.
func NewSender(secrets []Secret, onlyPublic bool, now func() time.Time) *Sender {
	dialer := &net.Dialer{Timeout: patience}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSHandshakeTimeout: patience, DisableKeepAlives: true,
		MaxResponseHeaderBytes: 64 << 10,
	}
	if onlyPublic {
		transport.Proxy = nil
		dialer.Control = func(_, address string, _ syscall.RawConn) error { return checkPublic(address) }
	}
	return &Sender{secrets: secrets, now: now, client: &http.Client{
		Transport: transport, Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// checkPublic returns an error unless the address, host and port, is public.
func checkPublic(address string) error {
	parsed, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !engine.IsPublic(parsed.Addr()) {
		return errors.New("the host of the target has a private address")
	}
	return nil
}

// Send sends a notice. Any response with a status other than 2xx is an error, redirects included.
// Errors show no more of the target than its host: the rest may be a secret. The error is [ErrGone]
// if the receiver wants no more.
func (s *Sender) Send(ctx context.Context, notice engine.Notice) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, notice.Target, strings.NewReader(notice.Body))
	if err != nil {
		return errors.New("the target of notify is not a URL")
	}
	signatures, at := make([]string, len(s.secrets)), s.now()
	for i, secret := range s.secrets {
		if signatures[i], err = secret.webhook.Sign(notice.ID, at, []byte(notice.Body)); err != nil {
			return err
		}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "waitless")
	request.Header.Set(standardwebhooks.HeaderWebhookID, notice.ID)
	request.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	request.Header.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	response, err := s.client.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return err
	}
	defer response.Body.Close()                                       //nolint:errcheck // nothing was written
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // so that the receiver can finish its response
	switch status := response.StatusCode; {
	case status >= http.StatusOK && status < http.StatusMultipleChoices:
		return nil
	case status == http.StatusGone:
		return ErrGone
	}
	return fmt.Errorf("the receiver responded with status %d", response.StatusCode)
}
