package s3_test

import (
	"crypto/rand"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/waitless/waitless/pkg/aws/emulator"
	ours "github.com/waitless/waitless/pkg/aws/s3"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/suite/enginetest"
)

func TestMain(m *testing.M) { os.Exit(emulator.Main(m)) }

// newBucket returns a new bucket of the emulator.
func newBucket(t *testing.T) ours.Bucket {
	t.Helper()
	config, name := emulator.Config(t), strings.ToLower("values-"+rand.Text())
	client := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	return ours.NewBucket(config, name)
}

func TestLargeValues(t *testing.T) {
	t.Parallel()
	emulator.Config(t)
	enginetest.LargeValues(t, func(t *testing.T) engine.LargeValues { t.Helper(); return newBucket(t) })
}
