package stack_test

import (
	"regexp"
	"testing"

	"github.com/waitless/waitless/pkg/release"
)

// Parameters that guard a stack reach each resource that they are about.
func TestGuardsReachEachResource(t *testing.T) {
	t.Parallel()
	found := map[string]int{}
	for id, r := range readTemplate(t).Resources {
		property, condition := map[string][2]string{
			"AWS::IAM::Role": {"PermissionsBoundary", "HasBoundary"}, "AWS::DynamoDB::Table": {"DeletionProtectionEnabled", "ProtectsTables"},
		}[r.Type], ""
		if property[0] == "" {
			continue
		}
		found[r.Type]++
		if value := at(&r.Properties, property[0]); value != nil && value.Tag == "!If" {
			condition = value.Content[0].Value
		}
		if condition != property[1] {
			t.Errorf("%s: %s has the condition %q, want %s", id, property[0], condition, property[1])
		}
	}
	if found["AWS::IAM::Role"] < 11 || found["AWS::DynamoDB::Table"] != 2 {
		t.Errorf("the template has %v", found)
	}
}

// The stack says of which release it is.
func TestStackHasVersion(t *testing.T) {
	t.Parallel()
	if got := readTemplate(t).Outputs["Version"].Value.Value; got != release.Version {
		t.Errorf("the output Version is %q and the version of the tree is %q", got, release.Version)
	}
}

// Each API has a limit of requests, and only the one of callbacks can do without its own endpoint.
func TestAPIsAreLimited(t *testing.T) {
	t.Parallel()
	resources := readTemplate(t).Resources
	for id, parameter := range map[string]string{"ManagementStage": "Management", "CallbackStage": "Callback"} {
		stage := resources[id]
		rate, burst := at(&stage.Properties, "DefaultRouteSettings", "ThrottlingRateLimit"), at(&stage.Properties, "DefaultRouteSettings", "ThrottlingBurstLimit")
		if rate == nil || burst == nil || rate.Value != parameter+"Rate" || burst.Value != parameter+"Burst" {
			t.Errorf("%s is not limited by %sRate and %sBurst", id, parameter, parameter)
		}
	}
	callbacks, management := resources["CallbackApi"], resources["ManagementApi"]
	if off := at(&callbacks.Properties, "DisableExecuteApiEndpoint"); off == nil || off.Content[0].Value != "HasOwnDomainOnly" {
		t.Error("CallbackEndpoint does not reach the callback API")
	}
	if at(&management.Properties, "DisableExecuteApiEndpoint") != nil {
		t.Error("the commands find the management API by its endpoint")
	}
}

func TestPermissionsBoundaryIsAPolicy(t *testing.T) {
	t.Parallel()
	allowed := regexp.MustCompile(readTemplate(t).Parameters["PermissionsBoundary"].Pattern)
	for boundary, want := range map[string]bool{
		"": true, "arn:aws:iam::123456789012:policy/team/boundary": true, "arn:aws:iam::aws:policy/PowerUserAccess": true,
		"arn:aws:iam::123456789012:role/boundary": false, "boundary": false, "arn:aws:iam::123456789012:policy/*": false,
	} {
		if got := allowed.MatchString(boundary); got != want {
			t.Errorf("%q is allowed: %t, want %t", boundary, got, want)
		}
	}
}
