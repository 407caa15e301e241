package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitless/waitless/pkg/release"
)

const root = "../../.."

// Two builds of the same tree in folders of their own give the same bytes, and the command knows
// what it is.
func TestReleaseIsReproducible(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the command twice, which takes seconds: run without -short")
	}
	host := runtime.GOOS + "/" + runtime.GOARCH
	var sums [2]string
	for i, folder := range []string{"a", "a folder whose name is longer"} {
		b := build{
			root: copied(t, filepath.Join(t.TempDir(), folder)), out: filepath.Join(t.TempDir(), folder),
			commit: "0123456789", at: time.Unix(1_800_000_000, 0), platforms: []string{host},
		}
		if err := b.run(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(b.out, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		if sums[i] = string(text); i == 0 {
			checkArchive(t, b.out)
			checkList(t, b.out)
		}
	}
	if sums[0] != sums[1] || strings.Count(sums[0], "\n") != 2 {
		t.Errorf("two builds differ:\n%s\n%s", sums[0], sums[1])
	}
}

// copied copies what is built and packed.
func copied(t *testing.T, folder string) string {
	t.Helper()
	for _, name := range []string{"pkg", "events", "functions"} {
		if err := os.CopyFS(filepath.Join(folder, name), os.DirFS(filepath.Join(root, name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum", "README.md", "LICENSE", "CHANGELOG.md", "template.yaml", "samconfig.toml"} {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err := errors.Join(err, os.WriteFile(filepath.Join(folder, name), content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// checkArchive runs the command of the archive.
func checkArchive(t *testing.T, out string) {
	t.Helper()
	name := fmt.Sprintf("waitless_%s_%s_%s", release.Version, runtime.GOOS, runtime.GOARCH)
	content, err := os.ReadFile(filepath.Join(out, name+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	files := untar(t, content)
	program := filepath.Join(t.TempDir(), "waitless")
	if err := os.WriteFile(program, files[name+"/waitless"], 0o700); err != nil {
		t.Fatal(err)
	}
	printed, err := exec.CommandContext(t.Context(), program, "version").Output()
	if want := "waitless " + release.Version + " (commit 0123456789, "; err != nil || !strings.HasPrefix(string(printed), want) {
		t.Errorf("version: %q, %v; want %s...", printed, err, want)
	}
	names := slices.Sorted(maps.Keys(files))
	want := []string{name + "/CHANGELOG.md", name + "/LICENSE", name + "/README.md", name + "/THIRD_PARTY_LICENSES", name + "/waitless"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	checkLinks(t, name, files)
	checkLicences(t, program, string(files[name+"/THIRD_PARTY_LICENSES"]))
}

// checkLicences looks for a text of each module that the program says it links.
func checkLicences(t *testing.T, program, licences string) {
	t.Helper()
	info, err := buildinfo.ReadFile(program)
	if err != nil || len(info.Deps) == 0 {
		t.Fatalf("%v, modules: %v", err, info)
	}
	for _, heading := range append([]string{"Go/LICENSE"}, modulesOf(info)...) {
		_, text, _ := strings.Cut(licences, "\n"+heading)
		_, text, _ = strings.Cut(text, "\n"+strings.Repeat("=", 80)+"\n\n")
		if text, _, _ = strings.Cut(text, "\n\n======"); len(text) < 500 || !regexp.MustCompile(`(?i)licen[cs]e|permi(tted|ssion)`).MatchString(text) {
			t.Errorf("%s has the licence %q", heading, text)
		}
	}
	if strings.Contains(licences, repository) {
		t.Error("the licence of this module is among those of others")
	}
}

// modulesOf returns how the headings of the linked modules begin.
func modulesOf(info *buildinfo.BuildInfo) (headings []string) {
	for _, module := range info.Deps {
		headings = append(headings, module.Path+"@"+module.Version+"/")
	}
	return headings
}

// The commands of the page about releases accept a signed release, and no changed one.
func TestSignedChecksums(t *testing.T) {
	t.Parallel()
	out, keys := t.TempDir(), t.TempDir()
	b := build{out: out, key: filepath.Join(keys, "key")}
	run := func(folder, name string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = folder
		printed, err := cmd.CombinedOutput()
		return string(printed), err
	}
	if printed, err := run(keys, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", "key"); err != nil {
		t.Fatalf("%v: %s; install OpenSSH", err, printed)
	}
	public, err := os.ReadFile(filepath.Join(keys, "key.pub"))
	page, pageErr := os.ReadFile(filepath.Join(root, "pkg/docs/reference/releases.md"))
	if err := errors.Join(err, pageErr, os.WriteFile(filepath.Join(out, "waitless.tar.gz"), []byte("archive"), 0o600)); err != nil {
		t.Fatal(err)
	}
	signers := append([]byte("waitless "), public...)
	if err := errors.Join(b.checksums(), b.sign(), os.WriteFile(filepath.Join(out, "allowed_signers"), signers, 0o600)); err != nil {
		t.Fatal(err)
	}
	_, commands, _ := strings.Cut(string(page), "```sh\n")
	commands, _, _ = strings.Cut(commands, "```\n")
	verify, check, _ := strings.Cut(commands, "\n")
	for _, step := range []struct{ change, command, want string }{
		{"true", verify, "Good \"waitless-release\" signature for waitless"},
		{"true", check, "waitless.tar.gz: OK"},
		{"echo x >>waitless.tar.gz", check, "FAILED"},
		{"sha256sum waitless.tar.gz >SHA256SUMS", check, "waitless.tar.gz: OK"},
		{"true", verify, "incorrect signature"},
		{"ssh-keygen -q -t ed25519 -N '' -f other; ssh-keygen -Y sign -f other -n waitless-release SHA256SUMS <<<y", verify, "Could not verify"},
	} {
		if printed, err := run(out, "bash", "-c", "("+step.change+") >/dev/null 2>&1; "+step.command); !strings.Contains(printed, step.want) {
			t.Errorf("%s; %s: %v: %s; want %s", step.change, step.command, err, printed, step.want)
		}
	}
}

// The archives of a stack have the licences of what the functions link, which is another list than
// the command's.
func TestLicencesOfFunctions(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a function, which takes seconds: run without -short")
	}
	b, folder := build{root: root}, t.TempDir()
	sources := []string{"./functions/callservice"}
	if err := b.compile(processors["arm64"], folder, sources, functionFlags...); err != nil {
		t.Fatal(err)
	}
	files, err := b.texts(processors["arm64"], sources, functionFlags...)
	if err != nil {
		t.Fatal(err)
	}
	licences := files[len(files)-1]
	checkLicences(t, filepath.Join(folder, "callservice"), string(licences.content))
	if licences.name != "THIRD_PARTY_LICENSES" || bytes.Contains(licences.content, []byte("github.com/cockroachdb/pebble")) {
		t.Errorf("%s has modules of the command", licences.name)
	}
}

// A module without a licence ends the build.
func TestModuleWithoutLicence(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":         "module example.com/a\n\nrequire example.com/b v1.0.0\n\nreplace example.com/b => ./b\n",
		"main.go":        "package main\n\nimport _ \"example.com/b/c\"\n\nfunc main() {}\n",
		"b/go.mod":       "module example.com/b\n",
		"b/c/c.go":       "package c\n",
		"b/c/license.go": "package c\n",
	} {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	b := build{root: folder}
	if _, err := b.licences("linux/amd64", []string{"."}); err == nil || !strings.HasPrefix(err.Error(), "module example.com/b@v1.0.0: no file of ") {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "b", "COPYING"), []byte("Do what you like."), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := b.licences("linux/amd64", []string{"."})
	if err != nil || !strings.Contains(string(got.content), "example.com/b@v1.0.0/COPYING\n"+strings.Repeat("=", 80)+"\n\nDo what you like.\n") {
		t.Errorf("%s, %v", got.content, err)
	}
}

// checkLinks follows the links of the texts in an archive: to another file of it, or to a file of
// the commit in the repository.
func checkLinks(t *testing.T, folder string, files map[string][]byte) {
	t.Helper()
	inTree := 0
	for _, name := range []string{"README.md", "CHANGELOG.md"} {
		for _, link := range regexp.MustCompile(`\]\(([^)#]+)`).FindAllStringSubmatch(string(files[folder+"/"+name]), -1) {
			file, ok := strings.CutPrefix(link[1], "https://"+repository+"/blob/0123456789/")
			switch {
			case ok:
				inTree++
				if _, err := os.Stat(filepath.Join(root, file)); err != nil {
					t.Errorf("%s: link %s: %v", name, link[1], err)
				}
			case !strings.HasPrefix(link[1], "https://") && files[folder+"/"+link[1]] == nil:
				t.Errorf("%s: the archive does not have %s", name, link[1])
			}
		}
	}
	if inTree < 20 {
		t.Errorf("only %d links to the tree", inTree)
	}
}

// checkList compares the modules of the list with those that the command is known to link.
func checkList(t *testing.T, out string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(out, "waitless_"+release.Version+".cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var bom struct {
		BomFormat, SpecVersion string
		Components             []struct {
			Name, Version, Purl string
			Hashes              []struct{ Alg, Content string }
		}
	}
	if err := json.Unmarshal(text, &bom); err != nil || bom.BomFormat != "CycloneDX" || bom.SpecVersion != "1.6" {
		t.Fatalf("%v: %s", err, text)
	}
	found := map[string]bool{}
	for _, c := range bom.Components {
		found[c.Name] = c.Purl == "pkg:golang/"+c.Name+"@"+c.Version && (c.Name == "std" || len(c.Hashes) == 1 && len(c.Hashes[0].Content) == 64)
	}
	if !found["std"] || !found["github.com/spf13/cobra"] || !found["github.com/aws/aws-sdk-go-v2/service/lambda"] || found["github.com/google/go-cmp"] {
		t.Errorf("the list has %v", found)
	}
}

func TestArchivesHaveFixedAttributes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 23, 5, 0, 0, 0, time.UTC)
	b := build{out: t.TempDir(), at: at.In(time.FixedZone("elsewhere", 3600))}
	for _, ending := range []string{".tar.gz", ".zip"} {
		if err := b.archive("w_1", ending, []file{{"LICENSE", []byte("text"), false}, {"waitless", []byte("binary"), true}}); err != nil {
			t.Fatal(err)
		}
	}
	packed, err := os.ReadFile(filepath.Join(b.out, "w_1.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for header := range headers(t, packed) {
		executable := header.Name == "w_1/waitless"
		if !header.ModTime.Equal(at) || header.Uid != 0 || header.Uname != "" || header.FileInfo().Mode().Perm() != perm(executable) {
			t.Errorf("tar: %+v", header)
		}
	}
	zipped, err := zip.OpenReader(filepath.Join(b.out, "w_1.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer zipped.Close() //nolint:errcheck // read only
	for _, f := range zipped.File {
		if !f.Modified.Equal(at) || f.Mode().Perm() != perm(f.Name == "w_1/waitless") {
			t.Errorf("zip: %+v", f.FileHeader)
		}
	}
}

func perm(executable bool) os.FileMode { return file{executable: executable}.mode() }

func headers(t *testing.T, packed []byte) map[*tar.Header][]byte {
	t.Helper()
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	found := map[*tar.Header][]byte{}
	for in := tar.NewReader(unpacked); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		content, readErr := io.ReadAll(in)
		if err := errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		found[header] = content
	}
}

func untar(t *testing.T, packed []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for header, content := range headers(t, packed) {
		files[header.Name] = content
	}
	return files
}

// The template of a release names a built function for each that `sam build` would build.
func TestBuiltTemplate(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	mains, err := filepath.Glob(filepath.Join(root, "functions", "*", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range []string{"arm64", "x86_64"} {
		template, functions, err := builtTemplate(string(text), arch)
		if err != nil {
			t.Fatal(err)
		}
		for _, main := range mains {
			name := filepath.Base(filepath.Dir(main))
			if !slices.Contains(functions, name) || strings.Count(template, "      CodeUri: functions/"+name+"\n") != 1 {
				t.Errorf("%s: the template does not have function %s once", arch, name)
			}
		}
		if !strings.Contains(template, "    Default: "+arch+"\n    AllowedValues: ["+arch+"]\n") || len(functions) != len(mains) {
			t.Errorf("%s: %v", arch, functions)
		}
	}
	if _, _, err := builtTemplate("Resources: {}\n", "arm64"); err == nil {
		t.Error("a template without the parameter is accepted")
	}
}
