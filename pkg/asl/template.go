package asl

import (
	"fmt"
	"strings"

	"github.com/waitless/waitless/pkg/flow/document"
	"github.com/waitless/waitless/pkg/value"
)

// template is a value that computes its members with names like "total.$".
type template struct {
	constant value.Value // if nothing inside is computed
	computed expression  // of a member, or else
	members  []member    // of an object or an array with a computed member inside
	isArray  bool
}

type member struct {
	key string
	template
}

func (t *template) eval(e *evaluation) (value.Value, error) {
	switch {
	case t.computed != nil:
		return t.computed.eval(e)
	case t.members == nil:
		return t.constant, nil
	}
	members := make([]value.Member, len(t.members))
	for i := range t.members {
		v, err := t.members[i].eval(e)
		if err != nil {
			return v, err
		}
		members[i] = value.Member{Key: t.members[i].key, Value: v}
	}
	if t.isArray {
		return value.ArrayFrom(members), nil
	}
	return value.Object(members...), nil
}

// template reads a template. What names the field for messages.
func (p *parser) template(n *document.Node, what string) template {
	if from := p.queryOf(n, what); from != nil {
		return template{computed: from}
	}
	t := template{constant: n.Value()}
	computed := false
	add := func(key string, inner template) {
		computed = computed || inner.computed != nil || inner.members != nil
		t.members = append(t.members, member{key, inner})
	}
	for _, entry := range n.Entries {
		name, isComputed := strings.CutSuffix(entry.Key, ".$")
		if !isComputed || p.isQuery {
			add(entry.Key, p.template(entry.Value, what+"/"+entry.Key))
			continue
		}
		if n.Get(name) != nil {
			p.Problem(entry.Pos, "%s: %s has both %q and %q; write one of them", p.place(), what, name, entry.Key)
		}
		add(name, template{computed: p.expression(entry.Value, what+": "+entry.Key)})
	}
	for i, item := range n.Items {
		add("", p.template(item, fmt.Sprintf("%s[%d]", what, i)))
	}
	if !computed {
		return template{constant: t.constant}
	}
	t.isArray = n.Kind == document.Sequence
	return t
}

// expression reads a text that is a path or a call of an intrinsic function.
func (p *parser) expression(n *document.Node, what string) expression {
	text, ok := n.Text()
	if !ok {
		p.unfit(n, what, `a path like "$.order.id", or an intrinsic function like "States.UUID()"`)
		return constant{value.Null()}
	}
	parsed, reads, err := parseExpression(text)
	if err != nil {
		p.Problem(n.Pos, "%s: %s: %s; allowed: a path like \"$.order.id\", or an intrinsic function like \"States.UUID()\"", p.place(), what, err)
		return constant{value.Null()}
	}
	p.noteReads(n, reads)
	if field, _, _ := strings.Cut(what, "/"); strings.HasPrefix(field, "Parameters") || strings.HasPrefix(field, "ItemSelector") {
		p.paths = append(p.paths, pathRead{n.Pos, p.state, what, parsed})
	}
	return parsed
}
