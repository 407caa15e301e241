package function_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

// BenchmarkColdStart is the time from the start of a function's process to its
// first request for an invocation. The budget of the interpreter is 2.3 times
// that of an empty handler of the same build, and 3 ms more.
func BenchmarkColdStart(b *testing.B) {
	mains, err := filepath.Glob("../../../functions/*/main.go")
	if err != nil || len(mains) == 0 {
		b.Fatalf("no functions: %v", err)
	}
	functions := []string{"empty"}
	for _, main := range mains {
		functions = append(functions, filepath.Base(filepath.Dir(main)))
	}
	dir, deployed := b.TempDir(), readTemplate(b)
	for _, function := range functions {
		binary, variables := buildForStart(b, dir, function), deployed.variables(function)
		b.Run(function, func(b *testing.B) {
			for b.Loop() {
				startOnce(b, binary, variables)
			}
		})
	}
}

// template is the part of template.yaml that gives the functions their variables.
type template struct {
	Parameters map[string]struct {
		Default string `yaml:"Default"`
	} `yaml:"Parameters"`
	Mappings  map[string]map[string]map[string]string `yaml:"Mappings"`
	Resources map[string]struct {
		Type       string `yaml:"Type"`
		Properties struct {
			Environment struct {
				Variables map[string]yaml.Node `yaml:"Variables"`
			} `yaml:"Environment"`
		} `yaml:"Properties"`
	} `yaml:"Resources"`
}

func readTemplate(tb testing.TB) (t template) {
	tb.Helper()
	text, err := os.ReadFile("../../../template.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &t)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// variables returns the environment of a function in a stack with the default parameters.
func (t template) variables(function string) []string {
	variables := []string{"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret"}
	for id, resource := range t.Resources {
		if strings.EqualFold(id, function+"Function") {
			for name, value := range resource.Properties.Environment.Variables {
				variables = append(variables, name+"="+t.text(&value))
			}
		}
	}
	return variables
}

// text returns the text of a value. Conditions are false, as with the default parameters.
func (t template) text(value *yaml.Node) string {
	switch value.Tag {
	case "!If":
		return t.text(value.Content[2])
	case "!Join":
		list := value.Content[1]
		if list.Kind != yaml.SequenceNode {
			return t.text(list)
		}
		var texts []string
		for _, each := range list.Content {
			texts = append(texts, t.text(each))
		}
		return strings.Join(texts, value.Content[0].Value)
	case "!Ref":
		return t.reference(value.Value)
	case "!GetAtt":
		if id, ok := strings.CutSuffix(value.Value, ".Arn"); ok {
			return "arn:aws:sqs:us-east-1:123456789012:" + id
		}
		return "https://api.example"
	case "!FindInMap":
		return t.Mappings[value.Content[0].Value][t.text(value.Content[1])][value.Content[2].Value]
	case "!Sub":
		if value.Kind == yaml.SequenceNode {
			return strings.ReplaceAll(t.text(&yaml.Node{Tag: "!Sub", Value: strings.ReplaceAll(value.Content[0].Value, "${Role}", "ROLE")}),
				"ROLE", t.text(value.Content[1].Content[1]))
		}
		return regexp.MustCompile(`\$\{(.*?)\}`).ReplaceAllStringFunc(value.Value, func(found string) string { return t.reference(found[2 : len(found)-1]) })
	}
	return value.Value
}

func (t template) reference(name string) string {
	pseudo := map[string]string{
		"AWS::AccountId": "123456789012", "AWS::Partition": "aws", "AWS::Region": "us-east-1", "AWS::StackName": "stack",
		"AWS::StackId": "arn:aws:cloudformation:us-east-1:123456789012:stack/stack/1", "AWS::URLSuffix": "amazonaws.com",
	}
	if text, ok := pseudo[name]; ok {
		return text
	}
	if parameter, ok := t.Parameters[name]; ok {
		return parameter.Default
	}
	if t.Resources[name].Type == "AWS::SQS::Queue" {
		return "http://127.0.0.1/123456789012/" + name
	}
	return name
}

// The variables of each function are read from the template: the benchmark of starts needs them.
func TestVariablesOfTemplate(t *testing.T) {
	t.Parallel()
	deployed := readTemplate(t)
	got := deployed.variables("jobevents")
	for _, want := range []string{
		"WAITLESS_STACK=stack", "WAITLESS_WAKE_QUEUE=http://127.0.0.1/123456789012/WakeQueue", "WAITLESS_JOB_ACCOUNTS=",
		"WAITLESS_POLL_QUEUE_ARN=arn:aws:sqs:us-east-1:123456789012:PollQueue", "WAITLESS_JOB_ROLE=arn:aws:iam::ACCOUNT:role/waitless-jobs",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %q", want, got)
		}
	}
	if got := deployed.variables("fnf"); !slices.Contains(got, "WAITLESS_API=CallbackApi") || !slices.Contains(got, "WAITLESS_TRACE_RATIO=") {
		t.Errorf("fnf has %q", got)
	}
}

func buildForStart(b *testing.B, dir, function string) string {
	b.Helper()
	source := "github.com/waitless/waitless/functions/" + function
	if function == "empty" {
		source = "./testdata/empty"
	}
	binary := filepath.Join(dir, function)
	build := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-tags", "lambda.norpc", "-o", binary, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", build, err, out)
	}
	return binary
}

// startOnce starts a function and ends it when it asks for its first
// invocation.
func startOnce(b *testing.B, binary string, variables []string) {
	b.Helper()
	asked := make(chan struct{}, 1)
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer api.Close()
	cmd := exec.CommandContext(b.Context(), binary)
	cmd.Env = append(slices.Clip(variables), "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(api.URL, "http://"))
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	const patience = 10 * time.Second
	select {
	case <-asked:
	case <-time.After(patience):
		b.Errorf("it asks for nothing: %s", log.String())
	}
	b.StopTimer()
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed, so it never ends well
	b.StartTimer()
}
