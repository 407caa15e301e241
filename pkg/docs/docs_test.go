package docs_test

import (
	"testing"

	"github.com/waitless/waitless/pkg/docs"
)

func TestFindNamesOneTopic(t *testing.T) {
	t.Parallel()
	for _, topic := range docs.Topics() {
		if found, ok := docs.Find(topic.Name); !ok || found != topic {
			t.Errorf("Find(%q) = %q, %t", topic.Name, found.Name, ok)
		}
	}
	if found, ok := docs.Find("nothing"); ok {
		t.Errorf("Find of no topic's name gives %q", found.Name)
	}
}
