package services_test

import (
	"slices"
	"testing"

	"github.com/waitless/waitless/pkg/aws/call/catalogue"
	"github.com/waitless/waitless/pkg/jobs"
)

// TestRightsOfOperations: the rights of a kind have the actions of its operations.
func TestRightsOfOperations(t *testing.T) {
	t.Parallel()
	compared := 0
	for _, kind := range jobs.Kinds() {
		for operation, statements := range map[string][]jobs.Statement{
			kind.StartOp: kind.StartStatements("1", "eu-west-1"), kind.DescribeOp: kind.DescribeStatements("1", "eu-west-1"),
		} {
			action, ok := catalogue.Action(kind.Service, operation)
			if !ok {
				continue
			}
			compared++
			if !slices.ContainsFunc(statements, func(s jobs.Statement) bool { return slices.Contains(s.Action, action) }) {
				t.Errorf("%s: no right for %s in %v", kind.Name, action, statements)
			}
		}
	}
	if compared < 8 {
		t.Errorf("%d operations were compared", compared)
	}
}
