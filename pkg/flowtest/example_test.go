package flowtest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/flowtest"
)

func ExampleTest_Run() {
	definition := []byte(approval)
	ctx := context.Background()
	result, err := flowtest.Test{
		Flow: definition,
		Functions: map[string]flowtest.Function{
			"mail/ask": func(flowtest.Call) (any, error) { return map[string]any{}, nil },
			"Ship":     func(flowtest.Call) (any, error) { return nil, &flowtest.Error{Name: "NotReady"} },
		},
		Answers: []flowtest.Answer{{Step: "Approve", After: 30 * time.Minute, Output: map[string]any{"approved": true}}},
	}.Run(ctx)
	fmt.Println(err, result.Status, result.Error, result.Elapsed, result.Count("Ship"))
	// Output: <nil> Failed NotReady 72h31m30s 3
}
