package jobs

import "testing"

func TestKeyReadsBack(t *testing.T) {
	t.Parallel()
	for text, key := range map[string]Key{
		"batch-job 111122223333:eu-central-1:" + batchARN: {"batch-job", account, region, batchARN},
		"transcribe-job 111122223333:eu-central-1:a:b c":  {"transcribe-job", account, region, "a:b c"},
		"simulated ::x": {"simulated", "", "", "x"},
	} {
		if got := key.String(); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
		if got, err := ParseKey(text); err != nil || got != key {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
}

func TestParseKeyRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "batch-job", "batch-job 1:2", "batch-job 1:2:", " 1:2:3", "batch-job:1:2:3"} {
		want := `jobs: key "` + text + `": want KIND ACCOUNT:REGION:NAME`
		if got, err := ParseKey(text); err == nil || err.Error() != want {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add("batch-job 111122223333:eu-central-1:" + batchARN)
	f.Fuzz(func(t *testing.T, text string) {
		key, err := ParseKey(text)
		if err == nil && key.String() != text {
			t.Fatalf("%q reads as %+v, which is written %q", text, key, key)
		}
	})
}
