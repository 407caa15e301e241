package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/waitless/waitless/pkg/release"
)

// functionFlags leave out the part of the Lambda runtime that these functions do not use.
var functionFlags = []string{"-tags", "lambda.norpc"}

// stack writes the archive from which `sam deploy` deploys the stack without Go: the template, and
// the functions for one processor.
func (b *build) stack(work, arch string) error {
	text, err := os.ReadFile(filepath.Join(b.root, "template.yaml"))
	if err != nil {
		return err
	}
	template, names, err := builtTemplate(string(text), arch)
	if err != nil {
		return fmt.Errorf("template.yaml: %w", err)
	}
	settings, err := os.ReadFile(filepath.Join(b.root, "samconfig.toml"))
	if err != nil {
		return err
	}
	folder, sources := filepath.Join(work, arch), make([]string, len(names))
	for i, name := range names {
		sources[i] = "./functions/" + name
	}
	if err := b.compile(processors[arch], folder, sources, functionFlags...); err != nil {
		return err
	}
	files, err := b.texts(processors[arch], sources, functionFlags...)
	if err != nil {
		return err
	}
	files = append(files, file{"template.yaml", []byte(template), false}, file{"samconfig.toml", settings, false})
	for _, name := range names {
		content, err := b.built(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		files = append(files, file{"functions/" + name + "/bootstrap", content, true})
	}
	return b.archive("waitless-stack_"+release.Version+"_"+arch, ".tar.gz", files)
}

var (
	// functionToBuild is the head of a function in the template, whose logical id is the name of
	// its folder and "Function".
	functionToBuild = regexp.MustCompile(`(?m)^  (\w+)Function:\n    Type: AWS::Serverless::Function\n(?:    .*\n)*?    Properties:\n`)
	buildMethod     = regexp.MustCompile(`(?m)^    Metadata: \{BuildMethod: makefile\}\n|^      BuildMethod: makefile\n`)
	archParameter   = regexp.MustCompile(`(?m)^(  Arch:\n    Type: String\n)    Default: arm64\n    AllowedValues: \[arm64, x86_64\]\n`)
)

// builtTemplate returns the template whose functions are built already, for one processor, and the
// names of these functions.
func builtTemplate(text, arch string) (template string, functions []string, err error) {
	for _, head := range functionToBuild.FindAllStringSubmatch(text, -1) {
		functions = append(functions, strings.ToLower(head[1]))
	}
	template = functionToBuild.ReplaceAllStringFunc(text, func(head string) string {
		name := functionToBuild.FindStringSubmatch(head)[1]
		return buildMethod.ReplaceAllString(head, "") + "      CodeUri: functions/" + strings.ToLower(name) + "\n"
	})
	template = archParameter.ReplaceAllString(template, "${1}    Default: "+arch+"\n    AllowedValues: ["+arch+"]\n")
	if strings.Contains(template, "BuildMethod") || !strings.Contains(template, "AllowedValues: ["+arch+"]\n") {
		return "", nil, errors.New("a function or the parameter Arch has another form than this program replaces")
	}
	return template, functions, nil
}
