// Command release builds the files of a release from the tree in the current folder: archives of
// the command, archives of the stack with its functions, the list of what is linked, and checksums.
// The same commit gives the same bytes in any folder.
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/release"
)

// repository is the address of the repository without its scheme, which is also the path of the Go
// module.
const repository = "github.com/waitless/waitless"

// platforms are those of the archives of the command.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

// processors are those of the functions, by the values of the parameter Arch.
var processors = map[string]string{"arm64": "linux/arm64", "x86_64": "linux/amd64"}

func main() {
	dir := flag.String("C", ".", "the folder of the tree; other paths start there")
	out := flag.String("out", "bin/release", "the folder of the files, which is replaced")
	commit := flag.String("commit", "", "the commit of the tree")
	at := flag.Int64("time", 0, "the time of all files, in seconds of Unix time")
	key := flag.String("key", "", "a file with the SSH key that signs the checksums, or its public half if an agent has the key")
	flag.Parse()
	if *commit == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := os.Chdir(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
	b := build{root: ".", out: *out, commit: *commit, at: time.Unix(*at, 0), key: *key, platforms: platforms, archs: []string{"arm64", "x86_64"}}
	if err := b.run(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
	if *key == "" {
		fmt.Fprintln(os.Stderr, "release: the checksums are not signed; set RELEASE_KEY to a file with an SSH key to sign them")
	}
}

// build is one build of a release.
type build struct {
	root, out, commit string
	at                time.Time
	platforms, archs  []string
	key               string // the file with the key that signs, "" for none

	binaries []string // all that were built, for the list of what is linked
}

func (b *build) run() error {
	work, err := os.MkdirTemp("", "waitless-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work) //nolint:errcheck // a folder left in the folder for temporary files does no harm
	if err := errors.Join(os.RemoveAll(b.out), os.MkdirAll(b.out, 0o750)); err != nil {
		return err
	}
	for _, platform := range b.platforms {
		if err := b.command(work, platform); err != nil {
			return err
		}
	}
	for _, arch := range b.archs {
		if err := b.stack(work, arch); err != nil {
			return err
		}
	}
	if err := b.list(); err != nil {
		return err
	}
	if err := b.checksums(); err != nil || b.key == "" {
		return err
	}
	return b.sign()
}

// command writes the archive of the command for a platform.
func (b *build) command(work, platform string) error {
	goos, goarch, _ := strings.Cut(platform, "/")
	program, ending := "waitless", ".tar.gz"
	if goos == "windows" {
		program, ending = "waitless.exe", ".zip"
	}
	folder := filepath.Join(work, goos+"-"+goarch)
	sources := []string{"./pkg/cmd/waitless"}
	if err := b.compile(platform, folder, sources); err != nil {
		return err
	}
	files, err := b.texts(platform, sources)
	if err != nil {
		return err
	}
	content, err := b.built(filepath.Join(folder, program))
	if err != nil {
		return err
	}
	files = append(files, file{program, content, true})
	return b.archive("waitless_"+release.Version+"_"+goos+"_"+goarch, ending, files)
}

// texts returns the files that each archive has, for the programs in it. Their links work outside
// of the tree.
func (b *build) texts(platform string, sources []string, flags ...string) (files []file, err error) {
	names := []string{"CHANGELOG.md", "LICENSE", "README.md"}
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(b.root, name)) //nolint:gosec // G304: a file of the tree
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, []byte(b.absoluteLinks(string(content), names)), false})
	}
	licences, err := b.licences(platform, sources, flags...)
	return append(files, licences), err
}

// relativeLink matches a link of Markdown to a file of the tree.
var relativeLink = regexp.MustCompile(`\]\(([^):#]+)(#[^)]*)?\)`)

// absoluteLinks makes links to files that are not in the archive links to the commit in the
// repository.
func (b *build) absoluteLinks(text string, inArchive []string) string {
	return relativeLink.ReplaceAllStringFunc(text, func(link string) string {
		parts := relativeLink.FindStringSubmatch(link)
		if slices.Contains(inArchive, parts[1]) {
			return link
		}
		return "](https://" + repository + "/blob/" + b.commit + "/" + parts[1] + parts[2] + ")"
	})
}

// compile builds programs into a folder, all at once: what they have in common is loaded once. What
// Go records of version control is left out, because it differs with the tags of a clone.
func (b *build) compile(platform, folder string, sources []string, flags ...string) error {
	args := []string{
		"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X " + repository + "/pkg/release.commit=" + b.commit,
		"-o", folder + string(filepath.Separator),
	}
	_, err := b.goTool(platform, slices.Concat(args, flags, sources)...)
	return err
}

// goTool runs the go command for a platform, with the same settings on every machine, and returns
// its output.
func (b *build) goTool(platform string, args ...string) ([]byte, error) {
	goos, goarch, _ := strings.Cut(platform, "/")
	cmd := exec.Command("go", args...) //nolint:gosec,noctx // G204: packages of the tree
	cmd.Dir = b.root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch, "GOFLAGS=", "GOWORK=off",
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s for %s: %w\n%s", strings.Join(args, " "), platform, err, stderr.Bytes())
	}
	return out, nil
}

// built returns a program that compile built, and adds it to the list of what is linked.
func (b *build) built(program string) ([]byte, error) {
	b.binaries = append(b.binaries, program)
	return os.ReadFile(program) //nolint:gosec // G304: in a folder of this program
}

// checksumsFile is the file of a release that the signature is of.
const checksumsFile = "SHA256SUMS"

// checksums writes the file that `sha256sum --check` reads.
func (b *build) checksums() error {
	entries, err := os.ReadDir(b.out) // sorted by name
	if err != nil {
		return err
	}
	var lines []byte
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(b.out, entry.Name()))
		if err != nil {
			return err
		}
		lines = fmt.Appendf(lines, "%x  %s\n", sha256.Sum256(content), entry.Name())
	}
	return os.WriteFile(filepath.Join(b.out, checksumsFile), lines, 0o644) //nolint:gosec // G306, G703: published, in the caller's folder
}

// sign writes the signature of the checksums beside them. Its namespace makes it a signature of
// nothing else.
func (b *build) sign() error {
	path := filepath.Join(b.out, checksumsFile)
	cmd := exec.Command("ssh-keygen", "-Y", "sign", "-f", b.key, "-n", "waitless-release", path) //nolint:gosec,noctx // G204: the caller's key
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("sign %s: %w\n%s", path, err, out)
	}
	return nil
}
