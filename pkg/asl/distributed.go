package asl

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
	"github.com/waitless/waitless/pkg/value"
)

// The modes of a Map.
const (
	modeInline      = "INLINE"
	modeDistributed = "DISTRIBUTED"
)

// maxLabel is the most characters of a Label.
const maxLabel = 40

// distributed reads the mode of a Map, and the fields that only mode DISTRIBUTED has.
func (s *seriesParser) distributed(m *mapData, d *data, foreach *flow.Foreach, n *document.Node) {
	processor := n.Get("ItemProcessor")
	if processor == nil {
		processor = n.Get("Iterator")
	}
	config := processor.Get("ProcessorConfig")
	if config != nil {
		s.fields(config, "ProcessorConfig", "Mode", "ExecutionType")
	}
	mode := s.oneOf(config, "Mode", modeInline, modeDistributed)
	if s.oneOf(config, "ExecutionType", "STANDARD", "EXPRESS"); mode != modeDistributed {
		for _, name := range strings.Fields(distributedFields) {
			if field := n.Get(name); field != nil {
				s.Problem(field.Pos, "%s: %s belongs to a Map in mode DISTRIBUTED; write \"ProcessorConfig\": {\"Mode\": \"DISTRIBUTED\", \"ExecutionType\": "+
					"\"STANDARD\"} into ItemProcessor", s.place(), name)
			}
		}
		return
	}
	m.most, m.label = flow.MaxConcurrency, s.label(n)
	m.batcher = s.batcher(n.Get("ItemBatcher"))
	foreach.Run = &flow.MapRun{Label: m.label, Name: keyRun, ReadFailed: errorItemReader, WriteFailed: errorResultWriter}
	if field := n.Get("ItemReader"); field != nil {
		m.reader = s.itemReader(field)
		foreach.Run.Items = func(f *flow.Frame, read value.Value) flow.Entry {
			e := d.evaluation(f, "enter")
			entry := flow.Entry{Input: e.data}
			v, err := d.input.of(e, e.data)
			if err == nil {
				entry.Work, err = m.workOf(e.with(v), e.lookup.Open(read))
			}
			if err != nil {
				entry.Failure = d.fail(err)
			}
			return entry
		}
	}
	if field := n.Get("ResultWriter"); field != nil {
		if m.writer = s.resultWriter(field); m.writer.params == nil {
			if m.writer.transformation == "FLATTEN" {
				d.result = flattened
			}
			m.writer = nil
			return
		}
		foreach.Run.Written = m.toWrite
		d.result = func(f *flow.Frame) value.Value {
			run := f.Lookup.Open(f.Input).Get(keyRun).Text()
			return value.Object(
				value.Member{Key: "MapRunArn", Value: value.String(runARN(f.Context().Flow, m.label, run))}, value.Member{Key: "ResultWriterDetails", Value: f.Local},
			)
		}
		d.keepsNone = false
	}
}

// oneOf returns a text that is one of these, "" for a missing one.
func (p *parser) oneOf(n *document.Node, name string, allowed ...string) string {
	field := n.Get(name)
	if field == nil {
		return ""
	}
	text, _ := field.Text()
	if !slices.Contains(allowed, text) {
		p.unfit(field, name, `"`+strings.Join(allowed, `" or "`)+`"`)
	}
	return text
}

// label returns the Label of a Map, or one made of the name of the state.
func (s *seriesParser) label(n *document.Node) string {
	isWrong := func(c rune) bool {
		return c > unicode.MaxASCII || unicode.IsSpace(c) || unicode.IsControl(c) || strings.ContainsRune("?*<>{}[]:;,\\|^~$#%&`\"/", c)
	}
	if field := n.Get("Label"); field != nil {
		label := s.text(n, "Label")
		if label == "" || len(label) > maxLabel || strings.ContainsFunc(label, isWrong) {
			s.unfit(field, "Label", "1 to "+strconv.Itoa(maxLabel)+" characters of ASCII, no spaces and none of ? * < > { } [ ] : ; , \\ | ^ ~ $ # % & ` \" /")
		}
		return label
	}
	label := strings.Map(func(c rune) rune {
		if isWrong(c) {
			return '-'
		}
		return c
	}, s.state)
	return label[:min(len(label), maxLabel)]
}

// batcher is ItemBatcher: an iteration has several items.
type batcher struct {
	most, bytes limit // of a batch
	input       *template
}

// limit is a constant or a computed number, 0 for none.
type limit struct {
	constant int64
	*source
}

func (l limit) of(e *evaluation) (int64, error) {
	if l.source == nil {
		return l.constant, nil
	}
	return l.whole(e)
}

// limit reads a field with a number, or with its path.
func (s *seriesParser) limit(n *document.Node, name string) (l limit) {
	if at := s.onlyOne(n, false, name, name+"Path"); at != nil {
		if l.source = s.sourceOf(at); l.source == nil {
			l.constant = s.whole(n, name, 0, maxAttempts, 0)
		}
	}
	return l
}

func (s *seriesParser) batcher(n *document.Node) *batcher {
	if n == nil {
		return nil
	}
	const most, size = "MaxItemsPerBatch", "MaxInputBytesPerBatch"
	s.fields(n, "ItemBatcher", most, most+"Path", size, size+"Path", "BatchInput")
	b := &batcher{most: s.limit(n, most), bytes: s.limit(n, size), input: s.templateOf(n, "BatchInput")}
	if n.Get(most) == nil && n.Get(most+"Path") == nil && n.Get(size) == nil && n.Get(size+"Path") == nil {
		s.Problem(n.Pos, "%s: ItemBatcher has no size of a batch; write %s or %s", s.place(), most, size)
	}
	return b
}

// batches returns the inputs of the iterations for a list of items.
func (b *batcher) batches(e *evaluation, list value.Value) (value.Value, error) {
	most, err := b.most.of(e)
	if err != nil {
		return list, err
	}
	bytes, err := b.bytes.of(e)
	if err != nil {
		return list, err
	}
	var shared []value.Member
	if b.input != nil {
		input, err := b.input.eval(e)
		if err != nil {
			return list, err
		}
		shared = append(shared, value.Member{Key: "BatchInput", Value: input})
	}
	var batches, batch []value.Member
	size := int64(0)
	for _, item := range list.Members() {
		added := int64(item.Value.Size()) + 1
		if len(batch) > 0 && (most > 0 && int64(len(batch)) >= most || bytes > 0 && size+added > bytes) {
			batches, batch, size = append(batches, batchOf(shared, batch)), nil, 0
		}
		batch, size = append(batch, item), size+added
	}
	if len(batch) > 0 {
		batches = append(batches, batchOf(shared, batch))
	}
	return value.ArrayFrom(batches), nil
}

func batchOf(shared, items []value.Member) value.Member {
	return value.Member{Value: value.Object(append(slices.Clip(shared), value.Member{Key: "Items", Value: value.ArrayFrom(items)})...)}
}
