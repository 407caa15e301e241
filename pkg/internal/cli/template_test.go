package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/internal/cli/view"
)

const exportFlow = "testdata/templates/export.yaml"

// rules: TP-7 TP-8 TP-10 TP-12
func TestTemplateMistakes(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"no-value":      {"validate", exportFlow, "--var", "STAGE=test"},
		"unused":        {"validate", exportFlow, "--var", "STAGE=test", "--var", "SECONDS=3", "--var", "BUCKET=b", "--var", "STAG=x"},
		"no-equals":     {"run", exportFlow, "--var", "STAGE"},
		"bad-name":      {"start", exportFlow, "--var", "1=2"},
		"lines":         {"advise", exportFlow, "--var", "STAGE=a\nb"},
		"twice":         {"flows", "put", exportFlow, "--var", "STAGE=a", "--var", "STAGE=b"},
		"stored":        {"start", "--flow", "export-test", "--var", "STAGE=a"},
		"bad-value":     {"validate", exportFlow, "--var", "STAGE=a b", "--var", "SECONDS=soon", "--var", "BUCKET=b"},
		"no-variable":   {"validate", exportFlow},
		"advise-unused": {"advise", pollingFlow, "--var", "DELAY=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, "templates/"+name+".txt", do(t, args...).transcript(args...))
		})
	}
}

// rules: TP-9 TP-10 TP-12
func TestTemplateIsFilled(t *testing.T) {
	t.Parallel()
	env := map[string]string{"WAITLESS_STORE": t.TempDir() + "/store"}
	args := []string{exportFlow, "--config", "testdata/templates/waitless.yaml", "--var", "BUCKET=b: [1]", "--var", "STAGE=prod"}
	want, err := os.ReadFile("testdata/templates/filled.yaml")
	if err != nil {
		t.Fatal(err)
	}
	put := doWith(t, "", env, append([]string{"flows", "put"}, args...)...)
	hash := sha256.Sum256(want)
	if shown := "export-prod  " + shortHash(hex.EncodeToString(hash[:])) + "\n"; put.exit != view.ExitSucceeded || put.stdout != shown {
		t.Errorf("got %+v, want %s", put, shown)
	}
	if got := doWith(t, "", env, "flows", "show", "export-prod"); got != (result{stdout: string(want)}) {
		t.Errorf("got %+v", got)
	}
	run := append([]string{"run"}, append(args, "--skip-time", "--task", "export=exec:cat")...)
	if got := do(t, run...); got.exit != view.ExitSucceeded || got.stdout != `{"bucket":"b: [1]","pattern":"${STAGE}/*"}`+"\n" {
		t.Errorf("got %+v", got)
	}
	for _, command := range []string{"validate", "advise"} {
		if got := do(t, append([]string{command}, args...)...); got.exit != view.ExitSucceeded {
			t.Errorf("%s: got %+v", command, got)
		}
	}
}

// Without a variable a flow with texts like placeholders runs as before.
//
// rules: TP-9
func TestTemplateWithoutVariables(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "flow.yaml", `{version: v1, type: flow, steps: [{type: pass, name: A, outputMappings: [{target: a, source: "$${A} ${!A} ${A}"}]}]}`)
	if got := do(t, "run", file, "--skip-time"); got.exit != view.ExitSucceeded || got.stdout != `{"a":"$${A} ${!A} ${A}"}`+"\n" {
		t.Errorf("got %+v", got)
	}
}

// A flow for which no variable is given runs as it is, with a warning for each placeholder.
//
// rules: TP-9
func TestTemplateWarnsOfPlaceholders(t *testing.T) {
	t.Parallel()
	env := map[string]string{"WAITLESS_STORE": t.TempDir() + "/store"}
	steps := "version: v1\ntype: flow\nname: f\nsteps:\n  - type: pass\n    name: A # ${C}\n    outputMappings:\n" +
		"      - {target: a, source: [\"é ${A}\"]}\n      - {target: b, source: [\"${ALIYUN::Region}${A-B}$${X}${!X}\"]}\n"
	file := writeFile(t, "flow.yaml", steps)
	warning := func(at, name string) string {
		return fmt.Sprintf("%s:%s: warning: placeholder ${%s} has no value and stays as it is; give --var %[3]s=VALUE, or write %[3]s below vars: in waitless.yaml\n",
			file, at, name)
	}
	want := warning("8:33", "A") + warning("9:48", "A-B")
	for _, args := range [][]string{{"validate", file}, {"run", file, "--skip-time"}, {"flows", "put", file}, {"start", file}, {"advise", file}} {
		if got := doWith(t, "", env, args...); got.exit != view.ExitSucceeded || !strings.HasPrefix(got.stderr, want) || strings.Count(got.stderr, "warning") != 2 {
			t.Errorf("%q: got %+v, want %s", args, got, want)
		}
	}
	for _, args := range [][]string{{"run", "--flow", "f", "--skip-time"}, {"validate", file, "--var", "A=1", "--var", "A-B=2"}} {
		if got := doWith(t, "", env, args...); got.exit != view.ExitSucceeded || strings.Contains(got.stderr, "warning") {
			t.Errorf("%q: got %+v", args, got)
		}
	}
	parent := writeFile(t, "parent.yaml", "version: v1\ntype: flow\nsteps:\n"+
		"  - {type: task, name: F, resourceArn: 'acs:fnf:::flow/f', pattern: sync, timeoutSeconds: 9}\n")
	if got := do(t, "run", parent, "--skip-time", "--subflow", "f="+file); got.exit != view.ExitSucceeded || !strings.HasPrefix(got.stderr, want) {
		t.Errorf("got %+v", got)
	}
	imported := writeFile(t, "template.yml", "Resources: {F: {Type: 'ALIYUN::FNF::Flow', Properties: {"+
		"Definition: {version: v1, type: flow, steps: [{type: pass, name: '${S}'}]}}}}\n")
	if got := do(t, "validate", imported, "--import"); !strings.Contains(got.stderr, "placeholder ${S} has no value and stays") {
		t.Errorf("got %+v", got)
	}
}

// A placeholder that names a function of a machine needs no value, and a source that is a
// placeholder has one warning.
func TestPlaceholdersWithOneWarning(t *testing.T) {
	t.Parallel()
	call := writeFile(t, "call.asl.json", `{"StartAt":"A","States":{
"A":{"Type":"Task","Resource":"${Work.Arn}","Next":"B"},
"B":{"Type":"Pass","Result":"${price}","End":true}}}`)
	source := writeFile(t, "source.yaml", "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: A, outputMappings: [{target: a, source: '${price}'}]}\n")
	for file, at := range map[string]string{call: "3:30", source: "4:65"} {
		got := do(t, "validate", file)
		if strings.Count(got.stderr, "warning") != 1 || !strings.Contains(got.stderr, file+":"+at+": warning: placeholder ${price} has no value") {
			t.Errorf("got %+v", got)
		}
	}
}

// A step that starts its own flow has a warning in each command that reads the flow, and a step
// that starts another flow has none.
func TestWarningOfAFlowThatStartsItself(t *testing.T) {
	t.Parallel()
	env := map[string]string{"WAITLESS_STORE": t.TempDir() + "/store"}
	flow := func(name string) string {
		return writeFile(t, name+".yaml", "version: v1\ntype: flow\nname: "+name+"\nsteps:\n"+
			"  - {type: choice, name: Ask, choices: [{condition: '$.more == true', goto: '${STEP}'}], default: {goto: End}}\n"+
			"  - {type: task, name: '${STEP}', resourceArn: 'acs:fnf:::flow/again'}\n  - {type: succeed, name: End}\n")
	}
	again, other := flow("again"), flow("other")
	commands := func(file string) [][]string {
		return [][]string{{"validate", file}, {"flows", "put", file}, {"run", file, "--skip-time"}, {"start", file}}
	}
	const warning = `step "ALongName" starts the flow itself, which starts it again, without end unless a choice before the step ends that`
	for _, args := range commands(again) {
		got := doWith(t, "", env, append(args, "--var", "STEP=ALongName")...)
		if got.exit != view.ExitSucceeded || !strings.HasPrefix(got.stderr, again+":6:5: warning: "+warning) || strings.Count(got.stderr, "warning") != 1 {
			t.Errorf("%q: got %+v", args, got)
		}
	}
	for _, args := range commands(other) {
		if got := doWith(t, "", env, append(args, "--var", "STEP=ALongName")...); got.exit != view.ExitSucceeded || strings.Contains(got.stderr, "warning") {
			t.Errorf("%q: got %+v", args, got)
		}
	}
	stored := regexp.MustCompile(`^again@[0-9a-f]{12}:6:5: warning: ` + regexp.QuoteMeta(warning))
	if got := doWith(t, "", env, "start", "--flow", "again"); got.exit != view.ExitSucceeded || !stored.MatchString(got.stderr) {
		t.Errorf("a stored flow: got %+v", got)
	}
	imported := writeFile(t, "template.yml", "Resources:\n  F:\n    Type: ALIYUN::FNF::Flow\n    Properties:\n      Name: again\n"+
		"      Definition: |\n        version: v1\n        type: flow\n        steps:\n"+
		"          - {type: task, name: '${STEP}', resourceArn: 'acs:fnf:::flow/again'}\n")
	if got := do(t, "validate", imported, "--import", "--var", "STEP=ALongName"); !strings.Contains(got.stderr, imported+":10:13: warning: "+warning) {
		t.Errorf("in a template: got %+v", got)
	}
}

// Problems are shown where the user wrote what they are about.
//
// rules: TP-11
func TestTemplatePlaces(t *testing.T) {
	t.Parallel()
	step := "  - {type: pass, name: '${STEP}', outputMappings: [{target: a, source: $inputs.x}], ende: true}\n"
	file := writeFile(t, "flow.yaml", "version: v1\ntype: flow\nsteps:\n"+step)
	got := do(t, "validate", file, "--var", "STEP=AVeryLongNameOfAStep")
	for _, place := range []string{"$inputs", "ende"} {
		if want := fmt.Sprintf("%s:4:%d: ", file, strings.Index(step, place)+1); !strings.Contains(got.stderr, want) {
			t.Errorf("got %+v, want %s", got, want)
		}
	}
	steps := "version: v1\ntype: flow\nsteps:\n" +
		"  - {type: task, name: '${STEP}', resourceArn: 'acs:fc:::services/s/functions/f', pattern: waitForCallback}\n"
	got = do(t, "advise", writeFile(t, "flow.yaml", steps), "--var", "STEP=AVeryLongNameOfAStep")
	if !strings.Contains(got.stdout, "flow.yaml:4:5: callback-without-deadline: no timeoutSeconds and no heartbeatSeconds in AVeryLongNameOfAStep: ") {
		t.Errorf("got %+v", got)
	}
}

// rules: TP-8
func TestSettingsCheckVars(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"vars: [1]":           ":1:7: vars are not a mapping; allowed: names with their values, like \"NAME: VALUE\"",
		"vars: {A: [1]}":      ":1:11: variable A is no text; allowed: a text or a number",
		"vars:\n  A: |\n   x": ":2:6: the value of variable A is not one line of text; write a text of several lines in the flow",
		"vars:\n  1: x":       ":2:6: variable name \"1\" is not valid; allowed: a letter or \"_\", then letters, digits and _ . : -",
	} {
		file := filepath.Join(t.TempDir(), "waitless.yaml")
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := do(t, "validate", pollingFlow, "--config", file); got.exit != view.ExitUsage || !strings.HasPrefix(got.stderr, file+want+"\n") {
			t.Errorf("%s: got %+v", text, got)
		}
	}
}

// rules: TP-13 TP-14 TP-15 TP-16 TP-17
func TestImport(t *testing.T) {
	t.Parallel()
	const folder = "testdata/templates/"
	const inS3 = "Resources: {M: {Type: 'AWS::StepFunctions::StateMachine', Properties: {DefinitionS3Location: {Bucket: b, Key: k}}}}"
	task := func(name string) []string { return []string{"--skip-time", "--task", name + "=exec:cat"} }
	for name, args := range map[string][]string{
		"import-ros":           append([]string{"run", folder + "ros.yaml", "--import", "--var", "Stage=prod", "--name", "a"}, task("count")...),
		"import-funcraft":      append([]string{"run", folder + "funcraft.yml", "--import=ResizeOne", "--name", "a"}, task("resize")...),
		"import-replaced":      {"run", folder + "funcraft.yml", "--import=Greet", "--var", "ALIYUN::StackName=x", "--name", "a", "--skip-time"},
		"import-project":       append([]string{"run", folder + "s.yaml", "--import", "--var", "account=1", "--name", "a"}, task("resize")...),
		"import-flow":          append([]string{"run", folder + "flows/resize.yml", "--import", "--name", "a"}, task("resize")...),
		"import-several":       {"validate", folder + "funcraft.yml", "--import"},
		"import-unknown":       {"advise", folder + "funcraft.yml", "--import=ResizeTwo"},
		"import-no-value":      {"validate", folder + "ros.yaml", "--import"},
		"import-no-stack":      {"validate", folder + "funcraft.yml", "--import=Greet"},
		"import-not-asked":     {"validate", folder + "ros.yaml", folder + "s.yaml", folder + "flows/resize.yml"},
		"import-not-asked-one": {"validate", folder + "funcraft.yml"},
		"import-s3":            {"validate", writeFile(t, "s3.yml", inS3), "--import"},
		"import-mistake":       {"validate", folder + "ros.yaml", "--import", "--var", "Stage=x y", "--var", "Seconds=soon"},
		"import-no-definition": {"validate", writeFile(t, "t.yml", "Resources: {F: {Type: 'ALIYUN::FNF::Flow', Properties: {Definition: [1]}}}"), "--import"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := do(t, args...)
			golden(t, "templates/"+name+".txt", strings.ReplaceAll(got.transcript(args...), filepath.Dir(args[1]), "DIR"))
		})
	}
}

// A template names files of its folder only, and settings that were found may name any file: errors
// show no text of it.
func TestFilesOfOthersAreNotShown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("secret", "version: v1\ntype: flow\nsteps: [{type: secret, name: A}]\n")
	write("a/up.yaml", "Resources: {F: {Type: 'ALIYUN::FNF::Flow', Properties: {Name: f, DefinitionUri: ../secret}}}")
	write("a/link.yaml", "Resources: {F: {Type: 'ALIYUN::FNF::Flow', Properties: {Name: f, DefinitionUri: linked}}}")
	if err := os.Symlink(secret, filepath.Join(dir, "a", "linked")); err != nil {
		t.Fatal(err)
	}
	for _, template := range []string{"up.yaml", "link.yaml"} {
		got := do(t, "validate", filepath.Join(dir, "a", template), "--import")
		if got.exit != view.ExitUsage || !strings.Contains(got.stderr, "escapes from parent") || strings.Contains(got.stderr, `"secret"`) {
			t.Errorf("%s: %+v", template, got)
		}
	}
	write("flow.yaml", "version: v1\ntype: flow\nsteps:\n- {type: task, name: Pay, resourceArn: 'acs:fnf:::flow/pay', pattern: sync}\n")
	write("waitless.yaml", "flows: {pay: "+secret+"}")
	for _, text := range []string{"root:x:0:0:hunter2:/root\n", "hunter2:*:20228:0:99999:7::\nhunter2:*:20228:0:99999:7::\n", "- hunter2\n"} {
		write("secret", text)
		got := do(t, "run", filepath.Join(dir, "flow.yaml"), "--config", filepath.Join(dir, "waitless.yaml"))
		if got.exit != view.ExitUsage || !strings.Contains(got.stderr, secret+":1:1: a flow ") || strings.Contains(got.stderr, "hunter2") {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// The definition that is stored is that of the template, with the values.
//
// rules: TP-12 TP-13
// A sub-flow comes from its own file, out of a template by its own name.
//
// rules: TP-13
func TestImportOfSubflows(t *testing.T) {
	t.Parallel()
	template := writeFile(t, "template.yaml", `ROSTemplateFormatVersion: '2015-09-01'
Resources:
  Parent:
    Type: ALIYUN::FNF::Flow
    Properties:
      Name: parent
      Definition: |
        version: v1
        type: flow
        name: parent
        steps:
          - {type: task, name: Pay, resourceArn: 'acs:fnf:::flow/child', pattern: sync, timeoutSeconds: 60,
             outputMappings: [{target: n, source: $local.n}]}
        outputMappings: [{target: n, source: $local.n}]
  Child:
    Type: ALIYUN::FNF::Flow
    Properties:
      Name: child
      Definition: |
        version: v1
        type: flow
        name: child
        steps: [{type: pass, name: One, outputMappings: [{target: n, source: 1}]}]
        outputMappings: [{target: n, source: $local.n}]
`)
	plain := writeFile(t, "child.yaml", "version: v1\ntype: flow\nname: child\nsteps: [{type: pass, name: One, outputMappings: [{target: n, source: 2}]}]\n"+
		"outputMappings: [{target: n, source: $local.n}]\n")
	if got := do(t, "run", template, "--import=Parent", "--skip-time"); got.exit != view.ExitSucceeded || got.stdout != `{"n":1}`+"\n" {
		t.Errorf("without --subflow: got %+v", got)
	}
	for child, want := range map[string]string{template: `{"n":1}`, plain: `{"n":2}`} {
		got := do(t, "run", template, "--import=parent", "--subflow", "child="+child, "--skip-time")
		if got.exit != view.ExitSucceeded || got.stdout != want+"\n" {
			t.Errorf("%s: got %+v", child, got)
		}
	}
	got := do(t, "run", template, "--import=parent", "--subflow", "child=none.yaml", "--skip-time")
	if got.exit != view.ExitUsage || !strings.Contains(got.stderr, "the definition of sub-flow child, none.yaml: no such file") {
		t.Errorf("got %+v", got)
	}
}

func TestImportIsPut(t *testing.T) {
	t.Parallel()
	env := map[string]string{"WAITLESS_STORE": t.TempDir() + "/store"}
	put := doWith(t, "", env, "flows", "put", "testdata/templates/funcraft.yml", "--import=ResizeOne")
	if put.exit != view.ExitSucceeded || !strings.HasPrefix(put.stdout, "ResizeOne  ") {
		t.Errorf("got %+v", put)
	}
	want, err := os.ReadFile("testdata/templates/flows/resize.yml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(want), "!Ref Album/resize", "acs:fc:::services/Album/functions/resize")
	if got := doWith(t, "", env, "flows", "show", "ResizeOne"); got.stdout != text {
		t.Errorf("got %+v, want %s", got, text)
	}
}

// The names of flows may have values that --var gives, those of resources do not.
func TestImportSuggestsResources(t *testing.T) {
	t.Parallel()
	const flow = "    Type: ALIYUN::FNF::Flow\n    Properties:\n      Name: {Fn::Sub: '%s-${Stage}'}\n      Definition: 'version: v1'\n"
	text := "Parameters: {Stage: {Default: ''}}\nResources:\n  Audit:\n" + fmt.Sprintf(flow, "audit") + "  Mail:\n" + fmt.Sprintf(flow, "mail")
	file := writeIn(t, t.TempDir(), "ros.yml", text)
	wantSaid(t, do(t, "validate", file, "--import"), view.ExitUsage, "the template has 2 flows: audit-, mail-", "try: --import=Audit\n")
	wantSaid(t, do(t, "validate", file, "--import=x", "--var", "Stage=dev"), view.ExitUsage, "try: --import=Audit, --import=Mail\n")
}
