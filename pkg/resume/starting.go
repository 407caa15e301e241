package resume

import (
	"context"
)

// StartJob is the function of that name: JSON in, JSON out. Its errors are a
// [*jobs.RequestError], a [*ServiceError], [token.ErrInvalid], or a store's.
func (j *Jobs) StartJob(ctx context.Context, input []byte) ([]byte, error) { return nil, nil }

// GetJobStatus is the function of that name: JSON in, JSON out. Its errors are
// those of [Jobs.StartJob].
func (j *Jobs) GetJobStatus(ctx context.Context, input []byte) ([]byte, error) { return nil, nil }
