package pkg

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// freeRelative is grammar that readers stumble over: name the thing, then use a verb. It stood in
// 10.6 % of the comment sentences here, and stands in 0.1 to 1.1 % of those of four model projects.
var freeRelative = regexp.MustCompile(`(?i)\b(what (is|are|was|were|it|they|the|an?|this|has|have|can|may|must|happens|follows|comes|goes)|` +
	`(that|those) of|(one|ones|those) that|of (which|that)|whose)\b`)

// The limits only fall: lower the first one when the share is lower.
const (
	maxFreeRelatives = 0.4 // percent of the sentences in comments of product code
	commentWidth     = 100 // columns, a tab has four
)

var endOfSentence = regexp.MustCompile(`[.!?:]\s+|\n\n`)

// productComments calls visit with each comment group of product code, and the columns of its lines before it.
func productComments(t *testing.T, visit func(file string, line int, group *ast.CommentGroup, indent int)) {
	t.Helper()
	for _, p := range ourPackages(t) {
		if r, ok := findRow(house, p.rel()); ok && r.testing {
			continue
		}
		for _, name := range p.GoFiles {
			files := token.NewFileSet()
			source, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(files, name, source, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(source), "\n")
			for _, group := range file.Comments {
				at := files.Position(group.Pos())
				before := lines[at.Line-1][:at.Column-1]
				if strings.TrimSpace(before) == "" {
					visit(p.rel()+"/"+name, at.Line, group, 4*len(before))
				}
			}
		}
	}
}

func TestCommentsNameTheThing(t *testing.T) {
	t.Parallel()
	sentences, found := 0, 0
	productComments(t, func(file string, line int, group *ast.CommentGroup, _ int) {
		for _, s := range endOfSentence.Split(group.Text(), -1) {
			if len(strings.Fields(s)) < 3 { //nolint:mnd // shorter ones are words of a list
				continue
			}
			sentences++
			if freeRelative.MatchString(s) {
				found++
				t.Logf("%s:%d: %s", file, line, strings.Join(strings.Fields(s), " "))
			}
		}
	})
	if share := 100 * float64(found) / float64(sentences); share > maxFreeRelatives {
		t.Errorf("%d of %d sentences in comments say \"what is\", \"that of\" and the like: %.1f %%, at most %.1f %%; "+
			"`go test ./pkg -run NameTheThing -v` prints them", found, sentences, share, maxFreeRelatives)
	} else {
		t.Logf("%d of %d sentences, %.1f %%", found, sentences, share)
	}
}

// Tables, code and directives are as wide as they need.
func TestCommentsAreWrapped(t *testing.T) {
	t.Parallel()
	productComments(t, func(file string, line int, group *ast.CommentGroup, indent int) {
		for i, c := range group.List {
			text, isProse := strings.CutPrefix(c.Text, "// ")
			if isProse && !strings.HasPrefix(text, " ") && !strings.HasPrefix(text, "\t") && indent+utf8.RuneCountInString(c.Text) > commentWidth {
				t.Errorf("%s:%d: the comment is %d columns wide, at most %d", file, line+i, indent+utf8.RuneCountInString(c.Text), commentWidth)
			}
		}
	})
}
