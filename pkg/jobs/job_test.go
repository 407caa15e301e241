package jobs

import "testing"

func TestKeyAsText(t *testing.T) {
	t.Parallel()
	for want, key := range map[string]Key{
		"batch-job 111122223333:eu-central-1:" + batchARN: {"batch-job", account, region, batchARN},
		"transcribe-job 111122223333:eu-central-1:a:b c":  {"transcribe-job", account, region, "a:b c"},
		"simulated ::x": {"simulated", "", "", "x"},
	} {
		if got := key.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A key is the same after it was a text, and no two keys have one text.
func TestKeyOfAText(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, key := range []Key{
		{}, {Kind: "batch-job", Account: "123456789012", Region: "eu-central-1", Name: "arn:aws:batch:eu-central-1:123456789012:job/a%3Ab"},
		{Kind: "a:", Account: "b", Region: "c"}, {Kind: "a", Account: ":b", Region: "c"}, {Kind: "a%3A", Account: "b", Region: "c"},
	} {
		id := key.ID()
		if back, ok := ParseKey(id); !ok || back != key || seen[id] {
			t.Errorf("%q is read as %+v, %t; want %+v, and only it", id, back, ok, key)
		}
		seen[id] = true
	}
	for _, id := range []string{"", "7", "a:b:c", "%:b:c:d", "a:%3a:c:d"} {
		if key, ok := ParseKey(id); ok {
			t.Errorf("%q is read as %+v", id, key)
		}
	}
}
