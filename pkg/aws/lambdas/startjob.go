package lambdas

import "github.com/waitless/waitless/pkg/jobs/simulated"

// StartJob composes the function StartJob, also known as SubmitJob: any JSON object in, {"job_id":"<UUIDv7>"}
// out. See [simulated.StartJob] for its errors.
func StartJob() Simulated {
	return newSimulated(simulated.StartJob, jobAttrs)
}
