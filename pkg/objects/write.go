package objects

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/waitless/waitless/pkg/value"
)

// write writes the results by their status, and a manifest that names these objects.
func write(ctx context.Context, store Store, request, target value.Value) (value.Value, error) {
	bucket, prefix := target.Get("Bucket").Text(), target.Get("Prefix").Text()
	if bucket == "" {
		return value.Null(), errors.New("the parameter Bucket is not a text")
	}
	if prefix = strings.TrimSuffix(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	prefix += request.Get("run").Text() + "/"
	var files []value.Member
	for _, status := range []string{"FAILED", "PENDING", "SUCCEEDED"} {
		content, name := contentOf(request, status), status+"_0.json"
		var list []value.Value
		if len(content) > 0 {
			if request.Get("isLines").IsTrue() {
				name += "l"
			}
			if err := store.Put(ctx, bucket, prefix+name, content); err != nil {
				return value.Null(), err
			}
			list = append(list, value.Object(
				value.Member{Key: "Key", Value: value.String(prefix + name)}, value.Member{Key: "Size", Value: value.Int(int64(len(content)))},
			))
		}
		files = append(files, value.Member{Key: status, Value: value.Array(list...)})
	}
	manifest := value.Object(
		value.Member{Key: "DestinationBucket", Value: value.String(bucket)}, value.Member{Key: "MapRunArn", Value: request.Get("runArn")},
		value.Member{Key: "ResultFiles", Value: value.Object(files...)},
	)
	key := prefix + "manifest.json"
	err := store.Put(ctx, bucket, key, []byte(manifest.JSON()))
	return value.Object(value.Member{Key: "Bucket", Value: value.String(bucket)}, value.Member{Key: "Key", Value: value.String(key)}), err
}

// contentOf returns the results with a status: a JSON array, or a line for each.
func contentOf(request value.Value, status string) []byte {
	transformation := request.Get("transformation").Text()
	var content bytes.Buffer
	before, between, after := "[", ",", "]"
	if request.Get("isLines").IsTrue() {
		before, between, after = "", "\n", "\n"
	}
	add := func(v value.Value) {
		if content.Len() == 0 {
			content.WriteString(before)
		} else {
			content.WriteString(between)
		}
		content.WriteString(v.JSON())
	}
	for _, result := range request.Get("results").Members() {
		output := result.Value.Get("Output")
		switch {
		case result.Value.Get("Status").Text() != status:
		case output.IsMissing():
			add(result.Value)
		case transformation == "FLATTEN" && output.Kind() == value.KindArray:
			for _, element := range output.Members() {
				add(element.Value)
			}
		case transformation == "FLATTEN", transformation == "COMPACT":
			add(output)
		default:
			add(value.Merge(result.Value, value.Object(value.Member{Key: "Output", Value: value.String(output.JSON())})))
		}
	}
	if content.Len() > 0 {
		content.WriteString(after)
	}
	return content.Bytes()
}
