package stack_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/emulator"
)

// inTurn runs the tests, and after them the one that looks at what they left.
// Tests that are selected with -run run in any case.
type inTurn struct{ m *testing.M }

const last = "^TestNoTokenIsInALog$"

// Run implements what [emulator.Main] runs.
func (r inTurn) Run() int {
	if flag.Lookup("test.run").Value.String() != "" || flag.Lookup("test.list").Value.String() != "" {
		return r.m.Run()
	}
	skipped := flag.Lookup("test.skip").Value.String()
	if skipped == "" {
		skipped = last
	} else {
		skipped += "|" + last
	}
	code := r.runWith(map[string]string{"test.skip": skipped})
	return max(code, r.runWith(map[string]string{"test.skip": "", "test.run": last}))
}

func (r inTurn) runWith(flags map[string]string) int {
	for name, value := range flags {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	return r.m.Run()
}

// issued notes a token that a test got to see.
func issued(text string) { seen.Store(text, true) }

var seen sync.Map

// deployed are all stacks of the run.
var deployed struct {
	sync.Mutex
	stacks []stack
}

// TestNoTokenIsInALog comes after all other tests. All that the functions
// printed, with the log level at debug, has no token in it: none of ours, and
// none of an external wait.
//
//nolint:paralleltest // it is the last
func TestNoTokenIsInALog(t *testing.T) {
	deployed.Lock()
	defer deployed.Unlock()
	tokens := map[string]bool{}
	for text := range seen.Range {
		tokens[text.(string)] = true
	}
	for _, s := range deployed.stacks {
		for _, text := range s.tokens(t) {
			tokens[text] = true
		}
	}
	logs := captured(t)
	t.Logf("%d tokens, %d logs", len(tokens), len(logs))
	if len(tokens) < 20 {
		t.Errorf("the run issued %d tokens; want at least 20, else this test shows nothing", len(tokens))
	}
	if len(logs) < 8 {
		t.Errorf("%d functions logged something; want at least 8, else this test shows nothing", len(logs))
	}
	needles := needlesOf(slices.Collect(maps.Keys(tokens)))
	for group, text := range logs {
		if at := needles.in(text); at != "" {
			t.Errorf("the log %s has a token: %s", group, at)
		}
	}
	if !strings.Contains(strings.Join(slices.Collect(maps.Values(logs)), ""), `"level":"DEBUG"`) {
		t.Error("no function logs at the level DEBUG")
	}
}

// tokens are those that table Waits knows of, and the external ones that
// it keeps.
func (s stack) tokens(t *testing.T) []string {
	t.Helper()
	keys := s.keys(t)
	client := dynamodb.NewFromConfig(emulator.Config(t))
	waits := dynamo.NewWaits(client, s.resources["WaitsTable"], time.Now)
	var tokens []string
	for _, handle := range s.handles(t, client) {
		if text, ok := keys.SignAgain(handle); ok {
			tokens = append(tokens, text)
		}
		wait, _, err := waits.ExternalWait(t.Context(), handle)
		if err != nil {
			continue // it is one of ours
		}
		theirs, err := keys.Unseal(handle, wait.Sealed)
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, theirs)
	}
	return tokens
}

// handles are those of all tokens in table Waits.
func (s stack) handles(t *testing.T, client *dynamodb.Client) []string {
	t.Helper()
	var handles []string
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{
		TableName: aws.String(s.resources["WaitsTable"]), ProjectionExpression: aws.String("k"),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(context.WithoutCancel(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			if handle, ok := strings.CutPrefix(item["k"].(*dynamotypes.AttributeValueMemberS).Value, "T"); ok {
				handles = append(handles, handle)
			}
		}
	}
	return handles
}

// captured is what all functions printed, by their logs.
func captured(t *testing.T) map[string]string {
	t.Helper()
	client := cloudwatchlogs.NewFromConfig(emulator.Config(t))
	logs := map[string]string{}
	pages := cloudwatchlogs.NewDescribeLogGroupsPaginator(client, &cloudwatchlogs.DescribeLogGroupsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(context.WithoutCancel(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range page.LogGroups {
			if text := printed(t, client, *group.LogGroupName); text != "" {
				logs[*group.LogGroupName] = text
			}
		}
	}
	return logs
}

// printed is all of one log. The emulator returns the oldest lines, and has no
// word for the next ones.
func printed(t *testing.T, client *cloudwatchlogs.Client, group string) string {
	t.Helper()
	const most = 10000
	var text strings.Builder
	for from := int64(0); ; {
		found, err := client.FilterLogEvents(context.WithoutCancel(t.Context()), &cloudwatchlogs.FilterLogEventsInput{
			LogGroupName: &group, StartTime: aws.Int64(from), Limit: aws.Int32(most),
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range found.Events {
			text.WriteString(aws.ToString(event.Message) + "\n")
		}
		if len(found.Events) < most {
			return text.String()
		}
		newest := aws.ToInt64(found.Events[most-1].Timestamp)
		if newest == from {
			t.Fatalf("%s has more than %d lines of one millisecond", group, most)
		}
		from = newest
	}
}

// needles are the forms in which tokens might stand in a text, by what they
// begin with.
type needles map[string][]string

const beginning = 12

func needlesOf(tokens []string) needles {
	n := needles{}
	for _, text := range tokens {
		for _, form := range forms(text) {
			n[form[:beginning]] = append(n[form[:beginning]], form)
		}
	}
	return n
}

// forms are a text as it is, as it stands in URLs and JSON, and in base64,
// wherever in what is encoded it may begin.
func forms(text string) []string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	all := []string{text, url.QueryEscape(text), url.PathEscape(text), string(quoted[1 : len(quoted)-1])}
	for before := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + text))
		encoded = encoded[(before*8+5)/6 : (before+len(text))*8/6] // without the characters that have bits of what is beside it
		all = append(all, encoded, strings.NewReplacer("+", "-", "/", "_").Replace(encoded))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// in is a place of a text that has one, empty for none.
func (n needles) in(text string) string {
	for i := range len(text) - beginning + 1 {
		for _, form := range n[text[i:i+beginning]] {
			if strings.HasPrefix(text[i:], form) {
				return text[max(0, i-100):min(len(text), i+len(form)+100)]
			}
		}
	}
	return ""
}

// TestATokenIsFoundInAnyForm shows that the search finds something.
func TestATokenIsFoundInAnyForm(t *testing.T) {
	t.Parallel()
	const text = "AbCdEfGhIjKl+/==.MnOpQrStUv?&"
	searched := needlesOf([]string{"another-token-of-the-run", text})
	base64Of := base64.StdEncoding.EncodeToString
	for name, line := range map[string]string{
		"plain":                   `{"token":"` + text + `"}`,
		"in a query":              "POST /callbacks?token=" + url.QueryEscape(text) + " 200",
		"in a path":               "POST /callbacks/" + url.PathEscape(text),
		"in JSON":                 `{"token":"AbCdEfGhIjKl+/==.MnOpQrStUv?\u0026"}`,
		"in base64":               base64Of([]byte(text)),
		"in base64, one later":    base64Of([]byte("1" + text + "1")),
		"in base64, two later":    base64Of([]byte("12" + text + "12")),
		"in base64 of JSON":       base64Of([]byte(`{"body":"` + text + `"}`)),
		"in base64 of URLs":       base64.URLEncoding.EncodeToString([]byte("z" + text)),
		"at the end of all lines": "one\ntwo\n" + text,
	} {
		if searched.in(line) == "" {
			t.Errorf("%s: it is not found in %s", name, line)
		}
	}
	for _, line := range []string{"", "AbCdEfGhIjKl", text[:len(text)-1], base64Of([]byte(text[:20]))} {
		if got := searched.in(line); got != "" {
			t.Errorf("%q is found in %q", got, line)
		}
	}
}
