package cli

import (
	"archive/zip"
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/disk"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// keptStores has stores that programs of earlier commits wrote. Its README says how.
const keptStores = "testdata/stores"

// afterTheWriting is later than what the stores hold, and earlier than anything
// that they wait for.
var afterTheWriting = time.Date(2026, 11, 22, 8, 20, 0, 0, time.UTC)

// A store that an earlier program wrote is read by this one, and its executions go on.
func TestStoresOfEarlierReleases(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob(keptStores + "/*/store.zip")
	if err != nil || len(folders) == 0 {
		t.Fatalf("%d stores, %v", len(folders), err)
	}
	for _, archive := range folders {
		name := filepath.Base(filepath.Dir(archive))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := &keptStore{T: t, name: name, folder: unpack(t, archive), clock: local.NewVirtualClock(afterTheWriting)}
			k.open()
			before := k.histories()
			k.wantHistories(before)
			golden(t, "stores/"+name+"/before.txt", k.view(before))
			k.answer()
			if err := k.system.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			after := k.histories()
			k.wantGoesOn(before, after)
			golden(t, "stores/"+name+"/after.txt", k.view(after))
			k.shut()
			k.open() // what it wrote itself
			if got, want := k.view(k.histories()), k.view(after); got != want {
				t.Errorf("after another start, got:\n%s\nwant:\n%s", got, want)
			}
			k.shut()
		})
	}
}

// keptStore is one of the stores, in use.
type keptStore struct {
	*testing.T
	name, folder string
	clock        *local.Clock
	store        *disk.Store
	system       *local.System
	client       *rest.Client
}

// unpack makes a store of an archive, in a folder for its owner only.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	files, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "store")
	for _, file := range files.File {
		where := filepath.Join(folder, filepath.FromSlash(file.Name))
		if err := os.MkdirAll(filepath.Dir(where), 0o700); err != nil {
			t.Fatal(err)
		}
		if file.FileInfo().IsDir() {
			continue
		}
		if err := os.WriteFile(where, contentOfFile(t, file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	return folder
}

func contentOfFile(t *testing.T, file *zip.File) []byte {
	t.Helper()
	r, err := file.Open()
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func (k *keptStore) open() {
	k.Helper()
	var err error
	if k.store, err = disk.Open(k.folder); err != nil {
		k.Fatal(err)
	}
	answers := map[string]string{}
	for _, function := range []string{"Call", "Long", "Once"} {
		answers[function] = `exec:echo '{"function":"` + function + `"}'`
	}
	tasks, err := local.NewFunctions(k.clock, answers)
	if err != nil {
		k.Fatal(err)
	}
	k.system = local.New(local.Config{Store: k.store, Clock: k.clock, Functions: tasks})
	k.client = target.InProcess(k.system, k.store)
}

func (k *keptStore) shut() {
	k.Helper()
	if err := k.store.Shut(); err != nil {
		k.Error(err)
	}
}

// histories are those of all executions, as the API shows them, by the names of
// the executions.
func (k *keptStore) histories() map[string]string {
	k.Helper()
	all := map[string]string{}
	for _, e := range k.executions() {
		events, _, err := k.client.History(k.Context(), e.Flow, e.Name, "", false, 0)
		if err != nil {
			k.Fatalf("history %s: %v", e.Name, err)
		}
		var out bytes.Buffer
		if err := (Command{Stdout: &out}).printEvents(events, true); err != nil {
			k.Fatal(err)
		}
		all[e.Flow+"/"+e.Name] = out.String()
	}
	return all
}

func (k *keptStore) executions() []rest.Execution {
	k.Helper()
	all, err := k.client.Executions(k.Context(), rest.Filter{})
	if err != nil {
		k.Fatal(err)
	}
	return all
}

// wantHistories compares with what the release printed that wrote the store.
func (k *keptStore) wantHistories(got map[string]string) {
	k.Helper()
	text, err := os.ReadFile(filepath.Join(keptStores, k.name, "histories"))
	if err != nil {
		k.Fatal(err)
	}
	want, name := map[string]string{}, ""
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "{") {
			name = strings.TrimSpace(line)
			continue
		}
		want[name] += line
	}
	for name := range want {
		if got[name] != want[name] {
			k.Errorf("history of %s, got:\n%s\nwant, as it was printed then:\n%s", name, got[name], want[name])
		}
	}
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, slices.Sorted(maps.Keys(want))) {
		k.Errorf("executions %v", names)
	}
}

// wantGoesOn: histories only grow, to an end.
func (k *keptStore) wantGoesOn(before, after map[string]string) {
	k.Helper()
	for name, begin := range before {
		if !strings.HasPrefix(after[name], begin) {
			k.Errorf("history of %s, got:\n%s\nwant it to begin with:\n%s", name, after[name], begin)
		}
	}
	for _, e := range k.executions() {
		if !e.Status.Final() {
			k.Errorf("%s is %s", e.Name, e.Status)
		}
	}
}

// answer closes tokens by the texts that the release before printed.
func (k *keptStore) answer() {
	k.Helper()
	text, err := os.ReadFile(filepath.Join(keptStores, k.name, "tokens"))
	if err != nil {
		k.Fatal(err)
	}
	tokens := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		tokens[name] = text
	}
	ok := value.Object(value.Member{Key: "status", Value: value.String("ok")})
	for name, wantFirst := range map[string]bool{"callback": true, "heartbeat": true, "answered": false} {
		if _, first, err := k.client.Succeed(k.Context(), tokens[name], ok); err != nil || first != wantFirst {
			k.Errorf("%s: first %t, %v", name, first, err)
		}
	}
	if _, first, err := k.client.Fail(k.Context(), tokens["callback-large"], rest.Failure{Error: "Refused", Cause: "too late"}); err != nil || !first {
		k.Errorf("callback-large: first %t, %v", first, err)
	}
}

// view is what `waitless list`, `tokens list` and `show` show, and the histories.
func (k *keptStore) view(histories map[string]string) string {
	k.Helper()
	executions := k.executions()
	tokens, err := k.client.Tokens(k.Context(), "", "", false)
	if err != nil {
		k.Fatal(err)
	}
	var out strings.Builder
	out.WriteString(view.Columns(executionRows(executions, true)))
	out.WriteString(view.Columns(tokenRows(tokens)))
	for _, e := range executions {
		out.WriteString("\n" + describe(e) + histories[e.Flow+"/"+e.Name])
	}
	return token.MaskAll(out.String())
}
