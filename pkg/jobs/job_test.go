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
