package main

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/aws/call"
	"github.com/waitless/waitless/pkg/aws/call/catalogue"
	"github.com/waitless/waitless/pkg/internal/suite/botocore"
	"github.com/waitless/waitless/pkg/jobs"
)

// made is a service for the file.
type made struct {
	name, id, refused, block string
	hosts                    []found
}

func fileOf(services []made) []byte {
	var head, blocks bytes.Buffer
	for _, each := range services {
		fmt.Fprintf(&head, "%s\t%s\t%d\t%s\n", each.name, each.id, len(each.block), each.refused)
		blocks.WriteString(each.block)
	}
	return append(append(head.Bytes(), '\n'), blocks.Bytes()...)
}

// found is what the vendor's library finds for operations of a service.
type found struct {
	Operations []string
	URLs       map[string][3]string // URL, region and name in signatures, by partition and region
}

// generate makes all services of their models.
func generate(ctx context.Context) (services []made, err error) {
	folders, err := botocore.Folders()
	if err != nil {
		return nil, err
	}
	var cases []map[string]any
	for _, folder := range folders {
		cases = append(cases, map[string]any{"what": "hosts", "service": folder})
	}
	var hosts [][]found
	if err := botocore.Run(ctx, cases, &hosts); err != nil {
		return nil, err
	}
	policies, err := iamActions()
	if err != nil {
		return nil, err
	}
	for i, folder := range folders {
		m, err := botocore.Read(folder)
		if err != nil {
			return nil, err
		}
		each := made{name: folder, refused: refusedService(folder, m), hosts: hosts[i]}
		each.id = strings.ToLower(strings.NewReplacer(" ", "", "-", "").Replace(m.Metadata.ServiceID))
		if each.refused == "" {
			if each.block, err = pack(blockOf(folder, m, hosts[i], policies)); err != nil {
				return nil, err
			}
		}
		services = append(services, each)
	}
	return services, nil
}

func pack(text string) (string, error) {
	var packed bytes.Buffer
	w, err := flate.NewWriterDict(&packed, flate.BestCompression, []byte(catalogue.Dictionary))
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err == nil {
		err = w.Close()
	}
	return packed.String(), err
}

// protocolOf returns the protocol of the service that package call speaks, empty for none.
func protocolOf(m botocore.Model) call.Protocol {
	d := m.Metadata
	spoken := append([]string{d.Protocol}, d.Protocols...)
	switch {
	case slices.Contains(spoken, "rest-json"):
		return call.RESTJSON
	case slices.Contains(spoken, "json"):
		return call.Protocol(d.JSONVersion)
	case slices.Contains(spoken, "query"):
		return call.Query
	case d.ServiceID == "S3":
		return call.RESTXML
	}
	return ""
}

// refusedService returns why no operation of a service is called, empty if they are.
func refusedService(folder string, m botocore.Model) string {
	protocol := m.Metadata.Protocol
	switch {
	case folder == "iam" || folder == "sts":
		return "it gives rights"
	case protocolOf(m) == "":
		return "its protocol is " + protocol + ", and this release speaks JSON and query"
	case m.Metadata.Signature == "bearer":
		return "its requests have bearer tokens instead of signatures"
	case m.Metadata.Signature == "v2":
		return "its signatures are of version 2, and this release makes those of version 4"
	}
	return ""
}

// refusedOperation returns why an operation is not called, empty if it is.
func refusedOperation(m botocore.Model, folder, name string) string {
	o := m.Operations[name]
	switch {
	case o.AuthType == "none":
		return "its requests are not signed, so no right bounds them"
	case o.Discovery.Required:
		return "its host is asked of the service first, which this release does not"
	case strings.Contains(o.Endpoint.HostPrefix, "{") || folder == "machinelearning" && name == "Predict":
		return "its params name a host"
	case slices.Contains(otherForms, folder+":"+name):
		return "its XML has a form of its own"
	case streams(m, o.Input) || streams(m, o.Output):
		return "it streams its input or output"
	case other(m, o.Input) || other(m, o.Output):
		return "its params or response have headers of any names"
	}
	return ""
}

// otherForms are operations whose responses have attributes, or a text alone, and operations with two
// members of one name.
var otherForms = []string{
	"s3:GetBucketAcl", "s3:GetBucketLocation", "s3:GetBucketLogging", "s3:GetObjectAcl", "s3:GetBucketNotification", "s3:PutBucketNotification",
}

// streams reports whether an input or output is or has a stream.
func streams(m botocore.Model, io *botocore.Member) bool {
	return io != nil && slices.ContainsFunc(slices.Collect(maps.Values(m.Shapes[io.Shape].Members)), func(each botocore.Member) bool {
		s := m.Shapes[each.Shape]
		return s.EventStream || (each.Streaming || s.Streaming) && protocolOf(m) != call.RESTXML
	})
}

// other reports whether an input or output has members in places that rows do not have.
func other(m botocore.Model, io *botocore.Member) bool {
	return io != nil && slices.ContainsFunc(slices.Collect(maps.Values(m.Shapes[io.Shape].Members)), func(each botocore.Member) bool {
		return each.Location == "headers" && protocolOf(m) != call.RESTXML || each.Location == "header" && each.JSONValue
	})
}

// blockOf returns the block of a service as package catalogue parses it.
func blockOf(folder string, m botocore.Model, hosts []found, policies map[string]map[string]bool) string {
	d := m.Metadata
	s := call.Service{ID: d.ServiceID, Prefix: d.EndpointPrefix, Protocol: protocolOf(m), Target: d.TargetPrefix}
	switch s.Protocol { //nolint:exhaustive // others have a prefix
	case call.Query:
		s.Target = d.APIVersion
	case call.RESTXML:
		s.Target = "http://s3.amazonaws.com/doc/2006-03-01/"
	}
	signing := cmp.Or(signingName(hosts), d.SigningName)
	if signing != d.EndpointPrefix {
		s.Signing = signing
	}
	iam, actions := iamOf(m, folder, signing, policies)
	hadQuery := ""
	if d.HadQuery != nil {
		hadQuery = "q"
	}
	text := strings.Join([]string{s.ID, s.Prefix, s.Signing, string(s.Protocol), s.Target, iam, hadQuery, exceptions(m)}, "\t") + "\n"
	variants, variantOf := []string{}, map[string]int{}
	for _, each := range hosts {
		line := hostsOf(s, each.URLs)
		i := slices.Index(variants, line)
		if i < 0 {
			i = len(variants)
			variants = append(variants, line)
		}
		for _, name := range each.Operations {
			variantOf[name] = i
		}
	}
	text += strings.Join(variants, "\n") + "\n\n"
	for _, name := range slices.Sorted(maps.Keys(m.Operations)) {
		text += name + "\t" + operationLine(m, folder, name, s.Protocol, variantOf[name], actions) + "\n"
	}
	return text
}

func operationLine(m botocore.Model, folder, name string, protocol call.Protocol, variant int, actions map[string]bool) string {
	if reason := refusedOperation(m, folder, name); reason != "" {
		return "!" + reason
	}
	o := m.Operations[name]
	input, output, conversions := namesOf(m, o, inputForm(protocol, folder, name), outputForm(protocol))
	fields := []string{"", "{}", "", o.Endpoint.HostPrefix, "", conversions, ""}
	if protocol == call.RESTJSON || protocol == call.RESTXML {
		fields[0] = o.HTTP.Method + " " + o.HTTP.RequestURI
	}
	if o.Input != nil {
		fields[1] = m.Shape(o.Input.Shape, input)
	}
	if o.Output != nil {
		fields[2] = m.Shape(o.Output.Shape, output)
	}
	if protocol == call.RESTXML { // an object is a text in a result, as on Step Functions
		fields[2] = strings.Replace(fields[2], "@payload:B", "@payload:s", 1)
	}
	if variant > 0 {
		fields[4] = fmt.Sprint(variant)
	}
	if !actions[strings.ToLower(name)] {
		fields[6] = catalogue.NoAction
	}
	return strings.Join(fields, "\t")
}

// exceptions returns the errors of a service: the name of the shape, with the code before it if it
// differs.
func exceptions(m botocore.Model) string {
	var names []string
	for _, o := range m.Operations {
		for _, each := range o.Errors {
			name := each.Shape
			if code := m.Shapes[name].Error.Code; code != "" && code != name {
				name = code + "=" + name
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

// namesOf returns the conversions of names between an operation and the vendor's SDKs, whose names
// begin in upper case. An input that has names of both kinds, or maps, gets the full form, whose
// names are found in any case, and so does an output with maps. Both must not be too long.
func namesOf(m botocore.Model, o botocore.Operation, input, output botocore.Form) (in, out botocore.Form, conversions string) {
	var params, result nameCount
	hasOtherName := false // which the full form of REST cannot say
	if o.Input != nil && input != botocore.Full {
		for name, each := range m.Shapes[o.Input.Shape].Members { // names of the params themselves are found in any case
			params.add(m, each.Shape, nil)
			hasOtherName = hasOtherName || each.Location == "" && each.LocationName != "" && !strings.EqualFold(each.LocationName, name)
		}
	}
	if o.Output != nil {
		result.add(m, o.Output.Shape, nil)
	}
	const longest = 8000 // bytes of a full form that is worth its place
	if params.lower > 0 && params.upper+params.maps > 0 && !hasOtherName && len(m.Shape(o.Input.Shape, botocore.Full)) <= longest {
		input, params = botocore.Full, nameCount{}
	}
	if params.lower > 0 {
		conversions = catalogue.LowerParams
	}
	switch {
	case params.lower > 0 && params.upper+params.maps > 0, result.lower > 0 && result.maps > 0 && len(m.Shape(o.Output.Shape, botocore.Full)) > longest:
		return input, output, catalogue.UnknownNames
	case result.lower > 0 && result.maps > 0:
		return input, botocore.Full, conversions + catalogue.ShapedResult
	case result.lower > 0:
		conversions += catalogue.LowerResult
	}
	return input, output, conversions
}

// nameCount counts names of members by their first letter, and maps, whose names are data.
type nameCount struct{ lower, upper, maps int }

func (c *nameCount) add(m botocore.Model, name string, within []string) {
	if slices.Contains(within, name) {
		return
	}
	within = append(slices.Clip(within), name)
	s := m.Shapes[name]
	switch {
	case s.Document:
		c.maps++
	case s.Type == "map":
		c.maps++
		c.add(m, s.Value.Shape, within)
	case s.Type == "list":
		c.add(m, s.Member.Shape, within)
	}
	for member, each := range s.Members {
		if strings.ToLower(member[:1]) == member[:1] {
			c.lower++
		} else {
			c.upper++
		}
		c.add(m, each.Shape, within)
	}
}

// outputForm returns the form of outputs: all members of XML, which tells neither lists nor
// numbers.
func outputForm(protocol call.Protocol) botocore.Form {
	if protocol == call.Query || protocol == call.RESTXML {
		return botocore.Full
	}
	return botocore.Instants
}

// inputForm returns the form of the input of an operation: all members if it starts jobs, whose
// params are checked at any depth, and in the query protocol, whose names of items are in the
// shapes.
func inputForm(protocol call.Protocol, folder, name string) botocore.Form {
	starts := func(k jobs.Kind) bool {
		return k.HasEnd() && k.StartOp == name && (k.Service == folder || k.Service == "sfn" && folder == "stepfunctions")
	}
	if protocol == call.Query || protocol == call.RESTXML || slices.ContainsFunc(jobs.Kinds(), starts) {
		return botocore.Full
	}
	return botocore.Outline
}

// signingName returns the name in signatures that the rules have, empty if they have none.
func signingName(hosts []found) string {
	for _, each := range hosts {
		for _, url := range each.URLs {
			if url[2] != "" {
				return url[2]
			}
		}
	}
	return ""
}

var variants = []string{"", " fips", " dual", " fips dual"}

// hostsOf returns the exceptions of a service in hosts and regions.
func hostsOf(s call.Service, urls map[string][3]string) string {
	byPartition := map[string][]string{}
	for key := range urls {
		partition, region, _ := strings.Cut(key, " ")
		region, _, _ = strings.Cut(region, " ")
		byPartition[partition] = append(byPartition[partition], region)
	}
	hosts, regions := map[string]string{}, map[string]string{}
	for _, partition := range partitions {
		names := byPartition[partition]
		slices.Sort(names)
		names = slices.Compact(names)
		for _, variant := range variants {
			addHosts(s, hosts, urls, partition, variant, names)
		}
		for _, region := range names {
			if signed := urls[partition+" "+region][1]; signed != "" && signed != region {
				regions[partition] = signed
			}
		}
	}
	return joined(hosts) + "\t" + joined(regions)
}

// partitions are those of package call.
var partitions = []string{"aws", "aws-cn", "aws-us-gov", "aws-eusc", "aws-iso", "aws-iso-b", "aws-iso-e", "aws-iso-f"}

// addHosts adds the hosts of a partition: the most frequent one for the partition, others by region.
func addHosts(s call.Service, hosts map[string]string, urls map[string][3]string, partition, variant string, regions []string) {
	count, hostOf := map[string]int{}, map[string]string{}
	for _, region := range regions {
		url := urls[partition+" "+region+variant][0]
		host := call.NoHost
		if url != "" {
			host = strings.Replace(strings.TrimPrefix(url, "https://")+".", region, "REGION", 1)
			plain, _ := s.URL(region, strings.Contains(variant, "fips"), strings.Contains(variant, "dual"))
			if url == plain {
				host = ""
			}
		}
		hostOf[region] = host
		count[host]++
	}
	most := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], cmp.Compare(a, b)) })
	if len(most) == 0 {
		hosts[partition+variant] = call.NoHost
		return
	}
	if most[0] != "" {
		hosts[partition+variant] = most[0]
	}
	for _, region := range regions {
		if host := hostOf[region]; host != most[0] {
			plain, _ := s.URL(region, strings.Contains(variant, "fips"), strings.Contains(variant, "dual"))
			hosts[region+variant] = cmp.Or(host, strings.TrimPrefix(plain, "https://")+".")
		}
	}
}

func joined(pairs map[string]string) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		texts = append(texts, name+"="+pairs[name])
	}
	return strings.Join(texts, ";")
}

// iamActions returns the actions that policies may have, in lower case, by service. They are those
// of the linter of the template.
func iamActions() (map[string]map[string]bool, error) {
	linter, err := botocore.Tool("sam")
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(linter, "lib/python3*/site-packages/cfnlint/data/AdditionalSpecs/Policies.json"))
	if err != nil {
		return nil, err
	}
	if len(files) != 1 {
		return nil, errors.New("the linter of templates is not installed: `make tools` installs it")
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		return nil, err
	}
	var services map[string]struct{ Actions map[string]any }
	if err := json.Unmarshal(text, &services); err != nil {
		return nil, err
	}
	all := map[string]map[string]bool{}
	for service, each := range services {
		all[service] = map[string]bool{}
		for action := range each.Actions {
			all[service][action] = true
		}
	}
	return all, nil
}

// iamOf returns the prefix of a service in policies, which has the most operations of the service,
// and its actions.
func iamOf(m botocore.Model, folder, signing string, policies map[string]map[string]bool) (prefix string, actions map[string]bool) {
	count := func(prefix string) (n int) {
		for name := range m.Operations {
			if policies[prefix][strings.ToLower(name)] {
				n++
			}
		}
		return n
	}
	prefix, most := signing, 0
	for _, each := range append([]string{signing, folder, m.Metadata.EndpointPrefix}, slices.Sorted(maps.Keys(policies))...) {
		if n := count(each); n > most {
			prefix, most = each, n
		}
	}
	return prefix, policies[prefix]
}
