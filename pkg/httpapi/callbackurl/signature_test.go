package callbackurl_test

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/httpapi/callbackurl"
	"github.com/waitless/waitless/pkg/token"
)

// sign makes the headers of Standard Webhooks without the library.
func sign(key []byte, id string, at time.Time, body string) []string {
	seconds := fmt.Sprint(at.Unix())
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + seconds + "." + body))
	return []string{
		"Webhook-Id", id, "Webhook-Timestamp", seconds, "Webhook-Signature", "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)),
	}
}

// id is that of a message for the token.
func (b *fixture) id(message string) string {
	handle, _, _ := strings.Cut(b.text, ".")
	return handle + "_" + message
}

func key(b byte) []byte { return []byte(strings.Repeat(string(rune(b)), 32)) }

func secretsOf(t *testing.T, keys ...[]byte) []callbackurl.Secret {
	t.Helper()
	var texts []string
	for _, key := range keys {
		texts = append(texts, "whsec_"+base64.StdEncoding.EncodeToString(key))
	}
	secrets, err := callbackurl.ParseSecrets(strings.Join(texts, " "))
	if err != nil {
		t.Fatal(err)
	}
	return secrets
}

func (b *fixture) signed(end, body string, header []string) response {
	b.t.Helper()
	return b.do(http.MethodPost, "/callbacks/"+b.text+end, body, header...)
}

// senderSecrets are those of the senders default (key a), acme (b) and globex (c, d).
func senderSecrets(t *testing.T) []callbackurl.Secret {
	t.Helper()
	secret := func(b byte) string { return "whsec_" + base64.StdEncoding.EncodeToString(key(b)) }
	secrets, err := callbackurl.ParseSecrets(fmt.Sprintf(`{"default":%q,"acme":%q,"globex":%q}`, secret('a'), secret('b'), secret('c')+" "+secret('d')))
	if err != nil {
		t.Fatal(err)
	}
	return secrets
}

// newFixtureFor has an open token of that sender; "" for one that names none.
func newFixtureFor(t *testing.T, sender string, secrets []callbackurl.Secret) *fixture {
	t.Helper()
	b := newFixtureOf(t, token.FlagSigned, secrets...)
	if sender != "" {
		b.text = b.keys.Sign(token.ID{
			Execution: [12]byte{1}, Number: 3, Expires: now.Add(time.Hour), Flags: token.FlagSigned | token.FlagSender, Sender: token.SenderOf(sender),
		})
	}
	return b
}

// The secret of one sender is not valid for the token of another.
// rules: B-18
func TestASenderSignsForItsOwnTokens(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		sender string
		key    byte
		status int
	}{
		{"acme", 'b', 200}, {"acme", 'a', 401}, {"acme", 'c', 401},
		{"globex", 'c', 200}, {"globex", 'd', 200}, {"globex", 'b', 401},
		{"", 'a', 200}, {"", 'b', 401}, {"default", 'a', 200}, {"default", 'b', 401},
		{"initech", 'a', 401}, {"initech", 'b', 401},
	} {
		for _, end := range []string{"", "/heartbeat"} {
			b := newFixtureFor(t, tt.sender, senderSecrets(t))
			body := "{}"
			if end == "/heartbeat" {
				body = ""
			}
			got := b.signed(end, body, sign(key(tt.key), b.id("m"), now, body))
			if got.status != tt.status || (b.uses.Load() > 0) != (tt.status == 200) {
				t.Errorf("sender %q, signed with %c at %q: %+v, %d uses of the store", tt.sender, tt.key, end, got, b.uses.Load())
			}
		}
	}
}

// The operator reads in the log which check failed. The response names only the kind of failure,
// and does not say that a sender has no secret.
// rules: B-18
func TestFailedSignatureChecksAreLogged(t *testing.T) {
	t.Parallel()
	acmeAlone, err := callbackurl.ParseSecrets(`{"acme":"whsec_` + base64.StdEncoding.EncodeToString(key('b')) + `"}`)
	if err != nil {
		t.Fatal(err)
	}
	signed := func(with byte, id string, at time.Time) func(*fixture) []string {
		return func(b *fixture) []string { return sign(key(with), b.id(id), at, "{}") }
	}
	for name, tt := range map[string]struct {
		sender     string
		secrets    []callbackurl.Secret
		header     func(*fixture) []string
		kind, logs string
	}{
		"no header":        {"", senderSecrets(t), func(*fixture) []string { return nil }, "missing", "the header webhook-id is missing"},
		"no signature":     {"", senderSecrets(t), func(b *fixture) []string { return signed('a', "m", now)(b)[:4] }, "missing", "webhook-signature is missing"},
		"another key":      {"acme", senderSecrets(t), signed('a', "m", now), "invalid", "webhook-signature does not match"},
		"too old":          {"", senderSecrets(t), signed('a', "m", now.Add(-time.Hour)), "expired", "webhook-timestamp is 1h0m0s from now; the tolerance is 5m0s"},
		"in the future":    {"", senderSecrets(t), signed('a', "m", now.Add(time.Hour)), "expired", "webhook-timestamp is 1h0m0s from now"},
		"an id with a dot": {"", senderSecrets(t), signed('a', "m.1", now), "invalid", "webhook-id has a dot"},
		"another id": {"", senderSecrets(t), func(*fixture) []string { return sign(key('a'), "m", now, "{}") }, "invalid",
			"does not begin with the token's handle"},
		"an unknown sender": {"initech", senderSecrets(t), signed('b', "m", now), "invalid", "THE_SETTING has no secret of the sender that the step names"},
		"no default sender": {"", acmeAlone, signed('b', "m", now), "invalid", "THE_SETTING has no secret of the sender that the step names (signed: true"},
		"no secret":         {"", nil, signed('a', "m", now), "", "no secret is configured, or it cannot be read; set THE_SETTING"},
	} {
		b := newFixtureFor(t, tt.sender, tt.secrets)
		got := b.signed("", "{}", tt.header(b))
		want := "the signature is " + tt.kind + "; "
		if tt.kind == "" {
			want = "the server has no secret to verify it with"
		}
		if got.status != 401 || !strings.Contains(got.body, want) || strings.Contains(got.body, "THE_SETTING") || strings.Contains(got.body, "sender that") {
			t.Errorf("%s: %+v; want 401 with %q", name, got, want)
		}
		if log := b.log.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, tt.logs) || strings.Contains(log, b.text) {
			t.Errorf("%s: logged %s; want %q", name, log, tt.logs)
		}
	}
}

// A token that was bound to a sender cannot be passed for one that was not.
func TestTheSenderCannotBeRemoved(t *testing.T) {
	t.Parallel()
	b := newFixtureFor(t, "acme", senderSecrets(t))
	_, signature, _ := strings.Cut(b.text, ".")
	id := token.ID{Execution: [12]byte{1}, Number: 3, Expires: now.Add(time.Hour), Flags: token.FlagSigned}
	other := id
	other.Flags, other.Sender = id.Flags|token.FlagSender, token.SenderOf("globex")
	for _, id := range []token.ID{id, other} {
		b.text = b.keys.Handle(id) + "." + signature
		for _, by := range []byte{'a', 'c'} {
			if got := b.signed("", "{}", sign(key(by), b.id("m"), now, "{}")); got.status != 404 || b.uses.Load() != 0 {
				t.Errorf("%+v: %+v", id, got)
			}
		}
	}
}

// While a secret is being replaced both are valid, on all paths and both forms
// of the token.
// rules: B-14
func TestValidSignatures(t *testing.T) {
	t.Parallel()
	for _, by := range []byte{'a', 'b'} {
		b := newFixtureOf(t, token.FlagSigned, secretsOf(t, key('a'), key('b'))...)
		b.signed("/heartbeat", "", sign(key(by), b.id("msg_1"), now, "")).want(t, 200, `{"open":true,"lastHeartbeat":"2026-01-31T10:00:00.000Z"}`)
		header := sign(key(by), b.id("msg_2"), now, `{"a":1}`)
		for range 2 { // a replay is the same again
			if got := b.signed("", `{"a":1}`, header); got.status != 200 {
				t.Errorf("response %+v", got)
			}
		}
		if got := b.signed("/failure", `{"error":"E"}`, sign(key(by), b.id("msg_3"), now, `{"error":"E"}`)); got.status != 409 {
			t.Errorf("response %+v", got)
		}
	}
	b := newFixtureOf(t, token.FlagSigned, secretsOf(t, key('a'))...)
	header := append(sign(key('a'), b.id("msg_2"), now, `{}`), "Authorization", "Bearer "+b.text)
	if got := b.do(http.MethodPost, "/callbacks", "{}", header...); got.status != 200 {
		t.Errorf("response %+v", got)
	}
}

// The path is not signed: what was overheard on one is nothing on another.
func TestSignedReportIsValidForItsPath(t *testing.T) {
	t.Parallel()
	for body, paths := range map[string][2]string{
		"":                             {"/heartbeat", ""},
		"{}":                           {"", "/heartbeat"},
		`{"error":"E","cause":"c"}`:    {"/failure", ""},
		`{"error":"E","other":"more"}`: {"", "/failure"},
	} {
		b := newFixtureOf(t, token.FlagSigned, secretsOf(t, key('a'))...)
		header := sign(key('a'), b.id("m"), now, body)
		if got := b.signed(paths[1], body, header); got.status != 400 || !b.held().Open() {
			t.Errorf("%s at %q: %+v", body, paths[1], got)
		}
		if got := b.signed(paths[0], body, header); got.status != 200 {
			t.Errorf("%s at %q: %+v", body, paths[0], got)
		}
	}
}

// The vector of the libraries of Standard Webhooks.
func TestVectorOfStandardWebhooks(t *testing.T) {
	t.Parallel()
	key, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	header := sign(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), `{"test": 2432232314}`)
	if header[5] != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("signed as %s", header[5])
	}
}

// A signed request is for one token: a copy of it is of no use for another
// one that they hold, and cannot pass a part of the body for the id.
func TestSignedReportIsValidForItsToken(t *testing.T) {
	t.Parallel()
	b := newFixtureOf(t, token.FlagSigned, secretsOf(t, key('a'))...)
	theirs := b.text
	other := token.ID{Execution: [12]byte{1}, Number: 4, Expires: now.Add(time.Hour), Flags: token.FlagSigned}
	b.text = b.keys.Sign(other)
	header := sign(key('a'), b.id("m"), now, "{}")
	if got := b.do(http.MethodPost, "/callbacks/"+theirs, "{}", header...); got.status != 401 || b.uses.Load() != 0 {
		t.Errorf("at another token: %+v", got)
	}
	if got := b.signed("", "{}", header); got.status != 200 {
		t.Errorf("at its own: %+v", got)
	}
}

func TestAgeOfASignature(t *testing.T) {
	t.Parallel()
	for age, status := range map[time.Duration]int{
		5 * time.Minute: 200, -5 * time.Minute: 200, 5*time.Minute + time.Second: 401, -5*time.Minute - time.Second: 401, 200 * 365 * 24 * time.Hour: 401,
	} {
		b := newFixtureOf(t, token.FlagSigned, secretsOf(t, key('a'))...)
		if got := b.signed("", "{}", sign(key('a'), b.id("m"), now.Add(-age), "{}")); got.status != status {
			t.Errorf("%v old: %+v", age, got)
		}
	}
}

// Without a valid signature the store is neither read nor written.
// rules: B-14
func TestInvalidSignaturesChangeNothing(t *testing.T) {
	t.Parallel()
	b := newFixtureOf(t, token.FlagSigned, secretsOf(t, key('a'))...)
	good := sign(key('a'), b.id("m"), now, "{}")
	without := func(i int) []string { return append(append([]string{}, good[:i]...), good[i+2:]...) }
	with := func(i int, value string) []string {
		header := append([]string{}, good...)
		header[i] = value
		return header
	}
	for name, header := range map[string][]string{
		"none": nil, "no id": without(0), "no instant": without(2), "no signature": without(4),
		"another secret": sign(key('b'), b.id("m"), now, "{}"), "another body": sign(key('a'), b.id("m"), now, "{ }"), "another id": with(1, b.id("n")),
		"an id of one's own": sign(key('a'), "m", now, "{}"), "an id with a dot": sign(key('a'), b.id("m.1"), now, "{}"),
		"for another token": sign(key('a'), "AAAA"+b.id("m")[4:], now, "{}"), "nine signatures": with(5, strings.Repeat(good[5]+" ", 8)+good[5]),
		"no number": with(3, "now"), "a huge number": with(3, strings.Repeat("9", 30)), "the largest number": with(3, "9223372036854775807"),
		"a bare signature": with(5, good[5][3:]), "another version": with(5, "v2"+good[5][2:]), "an empty one": with(5, "v1,"),
	} {
		for _, end := range []string{"", "/failure", "/heartbeat"} {
			got := b.signed(end, "{}", header)
			if got.status != 401 || !strings.Contains(got.body, "this callback needs the headers webhook-id") {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
	b.send("", "output={}").wantText(t, 401, "The signature is missing; this callback needs")
	b.get().wantText(t, 404, "it takes signed requests only")
	if b.reads.Load() != 0 || b.uses.Load() != 0 {
		t.Errorf("the store was read %d times and used %d times", b.reads.Load(), b.uses.Load())
	}
}

// One good signature among several is enough: senders replace secrets, too.
func TestSeveralSignatures(t *testing.T) {
	t.Parallel()
	b := newFixtureOf(t, token.FlagSigned, secretsOf(t, key('a'))...)
	good := sign(key('a'), b.id("m"), now, "{}")
	good[5] = "v1a,x " + sign(key('b'), b.id("m"), now, "{}")[5] + " " + good[5]
	if got := b.signed("", "{}", good); got.status != 200 {
		t.Errorf("response %+v", got)
	}
}

// A sender with a key pair signs with the private key (v1a). Shared secrets and public keys are
// valid side by side, and one kind of signature is not valid as the other.
func TestSignaturesOfKeyPairs(t *testing.T) {
	t.Parallel()
	signV1a := func(b *fixture, private ed25519.PrivateKey, body string) []string {
		header := sign(nil, b.id("m"), now, body)
		signed := header[1] + "." + header[3] + "." + body
		header[5] = "v1a," + base64.StdEncoding.EncodeToString(ed25519.Sign(private, []byte(signed)))
		return header
	}
	private, other := ed25519.NewKeyFromSeed(key('a')), ed25519.NewKeyFromSeed(key('b'))
	public := private.Public().(ed25519.PublicKey)
	secrets, err := callbackurl.ParseSecrets("whpk_" + base64.StdEncoding.EncodeToString(public) + " whsec_" + base64.StdEncoding.EncodeToString(key('s')))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		header func(b *fixture) []string
		want   int
	}{
		"the private key":                 {func(b *fixture) []string { return signV1a(b, private, "{}") }, 200},
		"the shared secret":               {func(b *fixture) []string { return sign(key('s'), b.id("m"), now, "{}") }, 200},
		"another private key":             {func(b *fixture) []string { return signV1a(b, other, "{}") }, 401},
		"another body":                    {func(b *fixture) []string { return signV1a(b, private, "{ }") }, 401},
		"the public key as a secret":      {func(b *fixture) []string { return sign(public, b.id("m"), now, "{}") }, 401},
		"the signature as of version one": {func(b *fixture) []string { h := signV1a(b, private, "{}"); h[5] = "v1" + h[5][3:]; return h }, 401},
	} {
		b := newFixtureOf(t, token.FlagSigned, secrets...)
		if got := b.signed("", "{}", tt.header(b)); got.status != tt.want {
			t.Errorf("%s: %+v, want %d", name, got, tt.want)
		}
	}
}

func TestNoSecretConfigured(t *testing.T) {
	t.Parallel()
	b := newFixtureOf(t, token.FlagSigned)
	got := b.signed("", "{}", sign(nil, b.id("m"), now, "{}"))
	if got.status != 401 || !strings.Contains(got.body, "the server has no secret to verify it with") || b.reads.Load()+b.uses.Load() != 0 {
		t.Errorf("response %+v", got)
	}
}

// A forged token is told from an unsigned request by its own answer only.
func TestAForgedTokenNeedsNoSignature(t *testing.T) {
	t.Parallel()
	b := newFixtureOf(t, token.FlagSigned, secretsOf(t, key('a'))...)
	b.text = b.text[:len(b.text)-1]
	if got := b.post("", "{}"); got.status != 404 {
		t.Errorf("response %+v", got)
	}
}

func TestParseSecrets(t *testing.T) {
	t.Parallel()
	encoded := func(size int) string {
		return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", size)))
	}
	const unreadable = `callback secrets: cannot be read; allowed: whsec_..., whpk_..., or {"default":"whsec_...","NAME":"whpk_..."}`
	const unknownForm = "callback secret 1: cannot be read; allowed: whsec_ and 24 to 64 bytes in base64, or whpk_ and a public Ed25519 key in base64"
	for text, want := range map[string]string{
		"":                                "0",
		" \n":                             "0",
		encoded(24):                       "1",
		encoded(64) + "\n" + encoded(24):  "2",
		encoded(23):                       "callback secret 1: has the length 23; allowed: 24 to 64 bytes",
		encoded(24) + " " + encoded(65):   "callback secret 2: has the length 65; allowed: 24 to 64 bytes",
		strings.Repeat("a", 32):           unknownForm,
		"whsec_" + strings.Repeat("!", 9): unknownForm,
		"whpk_" + encoded(32)[6:]:         "1",
		"whpk_" + encoded(24)[6:]:         "callback secret 1: has the length 24; allowed: 32 bytes",

		"{}":                                  "0",
		` {"default":"` + encoded(24) + `"} `: "1",
		`{"a":"` + encoded(24) + `","b":"` + encoded(24) + "  " + encoded(25) + `"}`: "3",
		`{"a":"` + encoded(24) + " " + encoded(23) + `"}`:                            `sender "a": callback secret 2: has the length 23; allowed: 24 to 64 bytes`,
		`{"a":""}`: `sender "a": has no secret`,
		`{"a":"` + encoded(24) + `","a":"` + encoded(25) + `"}`: unreadable,
		`{"a":["` + encoded(24) + `"]}`:                         unreadable,
		`{"` + encoded(24) + `":"a"}`:                           unreadable,
		`{"a":"` + encoded(24):                                  unreadable,
		`{"a":"` + encoded(24) + `"} ` + encoded(24):            unreadable,
	} {
		secrets, err := callbackurl.ParseSecrets(text)
		got := fmt.Sprint(len(secrets))
		if err != nil && strings.Contains(err.Error(), "a2tr") {
			t.Errorf("%q: the error shows a secret: %v", text, err)
		}
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s; want %s", text, got, want)
		}
	}
}

// Names that share a hash are found before a token is made for one of them.
func TestParseSecretsRejectsNamesWithTheSameHash(t *testing.T) {
	t.Parallel()
	seen := map[token.Sender]string{}
	for i := 0; ; i++ {
		name := fmt.Sprint("s", i)
		other, ok := seen[token.SenderOf(name)]
		if !ok {
			seen[token.SenderOf(name)] = name
			continue
		}
		secret := "whsec_" + base64.StdEncoding.EncodeToString(key('a'))
		_, err := callbackurl.ParseSecrets(fmt.Sprintf(`{%q:%q,%q:%q}`, other, secret, name, secret))
		want := fmt.Sprintf("tokens cannot tell the senders %q and %q apart; rename one of them", min(name, other), max(name, other))
		if err == nil || err.Error() != want {
			t.Errorf("ParseSecrets = %v, want %s", err, want)
		}
		return
	}
}
