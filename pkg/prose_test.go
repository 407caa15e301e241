package pkg

import (
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// phrases are words that the project no longer writes: each hides who acts, or has a standard term.
// .github/CONTRIBUTING.md lists what to write instead.
var phrases = regexp.MustCompile(`(?i)\b(whoever|somebody|nobody|is none|answers the|tells of|put out|taken|mend)\b`)

// Product texts are read by users: string literals of product code, pages, help and templates.
// Comments are read by contributors; the texts of test code count as comments.
//
// The limits only fall: lower the second one when the count is lower.
const (
	maxInProductTexts = 0
	maxInComments     = 61
)

// A phraseCount is how often the phrases occur below each folder.
type phraseCount struct {
	product, comments map[string]int
	places            []string // of product texts
}

func (c *phraseCount) inText(file, text string, firstLine int) {
	for _, at := range phrases.FindAllStringIndex(text, -1) {
		line := firstLine + strings.Count(text[:at[0]], "\n")
		c.product[filepath.Dir(file)]++
		c.places = append(c.places, fmt.Sprintf("%s:%d: %s", file, line, text[at[0]:at[1]]))
	}
}

func (c *phraseCount) inComment(file, text string) {
	if n := len(phrases.FindAllString(text, -1)); n > 0 {
		c.comments[filepath.Dir(file)] += n
	}
}

// inGo counts a Go file: its comments, and its string literals, which are product texts except in
// test code.
func (c *phraseCount) inGo(file string, source []byte, isTest bool) error {
	files := token.NewFileSet()
	if _, err := parser.ParseFile(files, file, source, parser.SkipObjectResolution); err != nil {
		return err
	}
	var s scanner.Scanner
	files = token.NewFileSet()
	at := files.AddFile(file, -1, len(source))
	s.Init(at, source, nil, scanner.ScanComments)
	for {
		pos, kind, text := s.Scan()
		switch {
		case kind == token.EOF:
			return nil
		case kind == token.STRING && !isTest:
			c.inText(file, text, at.Line(pos))
		case kind == token.COMMENT || kind == token.STRING:
			c.inComment(file, text)
		}
	}
}

// productText reports whether users read the file, which is not Go.
func productText(file string) bool {
	inFolder := func(folder string) bool { return strings.HasPrefix(file, folder) }
	isText := slices.Contains([]string{".md", ".txt", ".yaml", ".json", ".sh", ".mjs"}, filepath.Ext(file))
	switch {
	case file == "README.md", file == "CHANGELOG.md", file == "template.yaml", file == "Makefile":
		return true
	case strings.Contains(file, "/testdata/"):
		return false
	}
	return isText && (inFolder("pkg/") || inFolder("events/") || inFolder(".github/"))
}

// testCode reports whether the Go file is a test, or of a package that is test code.
func testCode(file string) bool {
	r, ok := findRow(house, filepath.ToSlash(filepath.Dir(file)))
	return strings.HasSuffix(file, "_test.go") || ok && r.testing
}

func countPhrases(t *testing.T) *phraseCount {
	t.Helper()
	c := &phraseCount{product: map[string]int{}, comments: map[string]int{}}
	err := filepath.WalkDir("..", func(name string, entry fs.DirEntry, err error) error {
		file := strings.TrimPrefix(filepath.ToSlash(name), "../")
		if err != nil || entry.IsDir() {
			if entry != nil && slices.Contains([]string{".git", ".tools", buildOutput}, file) {
				return filepath.SkipDir
			}
			return err
		}
		// The words themselves have to stand in this file and in the glossary.
		if file == "pkg/prose_test.go" || file == ".github/CONTRIBUTING.md" || entry.Type()&fs.ModeSymlink != 0 {
			return nil
		}
		isGo := filepath.Ext(file) == ".go"
		if !isGo && !productText(file) {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if isGo {
			return c.inGo(file, text, testCode(file))
		}
		c.inText(file, string(text), 1)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestPhrasesBecomeFewer counts the phrases. With -v it prints where they are.
func TestPhrasesBecomeFewer(t *testing.T) {
	t.Parallel()
	c := countPhrases(t)
	report(t, tooMany("product texts", total(c.product), maxInProductTexts))
	report(t, tooMany("comments and test code", total(c.comments), maxInComments))
	for _, folder := range slices.Sorted(maps.Keys(c.comments)) {
		t.Logf("%4d in comments of %s", c.comments[folder], folder)
	}
	for _, place := range c.places {
		t.Log(place)
	}
	t.Logf("product texts: %d; comments and test code: %d", total(c.product), total(c.comments))
}

func total(counts map[string]int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

func tooMany(where string, count, limit int) []string {
	if count > limit {
		return []string{fmt.Sprintf("%s: %d phrases of the old manner, at most %d; `go test ./pkg -run Phrases -v` prints the places", where, count, limit)}
	}
	return nil
}

func TestPhraseCountCanFail(t *testing.T) {
	t.Parallel()
	const source = "package x\n\n// nobody knows, the mender mends; Whoever may.\nvar s = `the name\nis none` // taken\n"
	for isTest, want := range map[bool][2]int{false: {1, 3}, true: {0, 4}} {
		c := &phraseCount{product: map[string]int{}, comments: map[string]int{}}
		if err := c.inGo("pkg/x/x.go", []byte(source), isTest); err != nil {
			t.Fatal(err)
		}
		if got := [2]int{total(c.product), total(c.comments)}; got != want {
			t.Errorf("test code %t: counted %v, want %v", isTest, got, want)
		}
		if !isTest && !slices.Equal(c.places, []string{"pkg/x/x.go:5: is none"}) {
			t.Errorf("places: %q", c.places)
		}
	}
	if len(tooMany("x", 1, 0)) != 1 || len(tooMany("x", 1, 1)) != 0 {
		t.Error("the limit is not kept")
	}
}
