package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/waitless/waitless/pkg/internal/suite/releasetest"
	"github.com/waitless/waitless/pkg/release"
)

// `go install MODULE/pkg/cmd/waitless@VERSION` installs the command, from a module proxy that has
// the last commit as this version.
func TestGoInstallsTheVersion(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles the command as a module, which takes seconds: run without -short")
	}
	m := module.Version{Path: repository, Version: "v" + release.Version}
	proxy := proxyOf(t, m)
	cache := strings.TrimSpace(goTool(t, nil, "env", "GOMODCACHE"))
	bin := t.TempDir()
	goTool(t, []string{
		"GOPROXY=file://" + proxy + ",file://" + filepath.Join(cache, "cache", "download"), "GOSUMDB=off", "GOFLAGS=-modcacherw",
		"GOMODCACHE=" + t.TempDir(), "GOBIN=" + bin, "CGO_ENABLED=0",
	}, "install", "-trimpath", m.Path+"/pkg/cmd/waitless@"+m.Version)
	printed, err := exec.CommandContext(t.Context(), filepath.Join(bin, "waitless"), "version").Output()
	if err != nil || !strings.HasPrefix(string(printed), "waitless "+release.Version+" (module "+m.Version+", ") {
		t.Errorf("%q, %v", printed, err)
	}
}

// proxyOf makes the folder of a module proxy.
func proxyOf(t *testing.T, m module.Version) string {
	t.Helper()
	var packed bytes.Buffer
	tree := releasetest.Unpack(t, root, "HEAD")
	if err := zip.CreateFromDir(&packed, m, tree); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(tree, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	proxy := t.TempDir()
	folder := filepath.Join(proxy, m.Path, "@v")
	write := func(name string, content []byte) error {
		return os.WriteFile(filepath.Join(folder, name), content, 0o600)
	}
	if err := errors.Join(
		os.MkdirAll(folder, 0o750),
		write("list", []byte(m.Version+"\n")), write(m.Version+".mod", text), write(m.Version+".zip", packed.Bytes()),
		write(m.Version+".info", fmt.Appendf(nil, `{"Version":%q,"Time":"2026-11-23T00:00:00Z"}`, m.Version)),
	); err != nil {
		t.Fatal(err)
	}
	return proxy
}

// goTool runs the go tool outside of the module.
func goTool(t *testing.T, variables []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), variables...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.Bytes())
	}
	return string(out)
}
