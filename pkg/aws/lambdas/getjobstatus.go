package lambdas

import (
	"time"

	"github.com/waitless/waitless/pkg/jobs/simulated"
)

// GetJobStatus composes the function GetJobStatus, also known as CheckJob: {"job_id","delay","try_count"} in,
// {"job_id","job_status","try_count"} out. See [simulated.GetJobStatus] for their meaning and its errors.
func GetJobStatus() Simulated {
	return newSimulated(getJobStatus, jobAttrs)
}

func getJobStatus(input []byte, now time.Time, _ [10]byte) ([]byte, error) {
	return simulated.GetJobStatus(input, now)
}
