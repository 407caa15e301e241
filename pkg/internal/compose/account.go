package compose

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"

	"github.com/waitless/waitless/pkg/aws/call"
	"github.com/waitless/waitless/pkg/internal/cli/target"
)

// read makes a call and reads its result into output.
func read(ctx context.Context, client *call.Client, row call.Operation, params map[string]string, output any) error {
	text, err := json.Marshal(params) // null without params
	if err != nil {
		return err
	}
	response, err := client.Call(ctx, row, text)
	if err != nil {
		return err
	}
	return json.Unmarshal(response.Body, output)
}

// identity is the caller as AWS sees it.
type identity struct{ Account, Arn string }

func identify(ctx context.Context, config aws.Config) (caller identity, err error) {
	err = read(ctx, call.New(config), call.GetCallerIdentity, nil, &caller)
	return caller, err
}

// describeStack returns a stack as CloudFormation describes it, without its resources, or nil if
// there is none.
func describeStack(ctx context.Context, client *call.Client, name string) (*target.Stack, error) {
	var found struct {
		Stacks []struct {
			StackStatus, StackStatusReason string
			Outputs                        []struct{ OutputKey, OutputValue string }
			Parameters                     []struct{ ParameterKey, ParameterValue string }
		}
	}
	err := read(ctx, client, call.DescribeStacks, map[string]string{"StackName": name}, &found)
	refused, ok := errors.AsType[smithy.APIError](err)
	switch {
	case ok && refused.ErrorCode() == "ValidationError":
		return nil, nil
	case err == nil && len(found.Stacks) != 1:
		return nil, errors.New("CloudFormation describes no stack, or several")
	case err != nil:
		return nil, err
	}
	stack := found.Stacks[0]
	s := &target.Stack{Status: stack.StackStatus, Reason: stack.StackStatusReason, Outputs: map[string]string{}, Parameters: map[string]string{}}
	for _, output := range stack.Outputs {
		s.Outputs[output.OutputKey] = output.OutputValue
	}
	for _, p := range stack.Parameters {
		s.Parameters[p.ParameterKey] = p.ParameterValue
	}
	return s, nil
}

// stackResources returns the resources of the stack. With an error it returns the pages before it.
func stackResources(ctx context.Context, client *call.Client, name string) (resources []target.Resource, err error) {
	params := map[string]string{"StackName": name}
	for {
		var page struct {
			NextToken              string
			StackResourceSummaries []struct{ LogicalResourceID, ResourceType, PhysicalResourceID string }
		}
		if err := read(ctx, client, call.ListStackResources, params, &page); err != nil {
			return resources, err
		}
		for _, r := range page.StackResourceSummaries {
			resources = append(resources, target.Resource{Name: r.LogicalResourceID, Type: r.ResourceType, ID: r.PhysicalResourceID})
		}
		if page.NextToken == "" {
			return resources, nil
		}
		params["NextToken"] = page.NextToken
	}
}
