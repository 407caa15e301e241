package call

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Service says where a service is and how it is spoken to.
type Service struct {
	ID       string // the SDK's, which is in AWS_ENDPOINT_URL_<ID>
	Prefix   string // of its hosts
	Signing  string // the name in signatures, if it is another
	Protocol Protocol
	Target   string // the prefix of X-Amz-Target, or the version of the query protocol
	HadQuery bool   // it had the query protocol before JSON, and returns the error codes of that
	// Hosts are exceptions: the part before the suffix, or a whole host followed by a dot. The key
	// is a region or a partition, with " fips" or " dual" for these variants. [NoHost] stands for a
	// host that does not exist.
	Hosts map[string]string
	// Regions are the signing regions, by partition, where they differ from the regions of the
	// hosts.
	Regions map[string]string
}

// NoHost says that a service has no host.
const NoHost = "-"

func (s Service) signing() string { return cmp.Or(s.Signing, s.Prefix) }

// partition is a part of AWS.
type partition struct {
	name, region      string // region: how the names of its regions begin
	suffix, dualstack string
}

// partitions has the longer beginnings first. The last one has all regions that the others do not
// have.
var partitions = []partition{
	{"aws-cn", "cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn"},
	{"aws-us-gov", "us-gov-", "amazonaws.com", "api.aws"},
	{"aws-eusc", "eusc-", "amazonaws.eu", "api.amazonwebservices.eu"},
	{"aws-iso", "us-iso-", "c2s.ic.gov", "api.aws.ic.gov"},
	{"aws-iso-b", "us-isob-", "sc2s.sgov.gov", "api.aws.scloud"},
	{"aws-iso-e", "eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"},
	{"aws-iso-f", "us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"},
	{"aws", "", "amazonaws.com", "api.aws"},
}

// regionForm is the form of a host label, so no region can lead to another host.
var regionForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`) })

// endpoint returns the URL of a service: the configured URL, or else the URL of the region with the
// prefix before its host.
func (c *Client) endpoint(ctx context.Context, s Service, prefix string) (string, error) {
	if !regionForm().MatchString(c.config.Region) {
		return "", fmt.Errorf("region %q: want one such as us-east-1; set AWS_REGION", c.config.Region)
	}
	if found := c.configured(ctx, s.ID); found != "" {
		return found, nil
	}
	fips := first(ctx, c.config.ConfigSources, fipsSource.GetUseFIPSEndpoint)
	dual := first(ctx, c.config.ConfigSources, dualStackSource.GetUseDualStackEndpoint)
	found, ok := s.URL(c.config.Region, fips == aws.FIPSEndpointStateEnabled, dual == aws.DualStackEndpointStateEnabled)
	if !ok {
		return "", fmt.Errorf("service %s has no such endpoint in region %s; set AWS_REGION, or AWS_ENDPOINT_URL_%s", s.ID, c.config.Region, variable(s.ID))
	}
	return strings.Replace(found, "https://", "https://"+prefix, 1), nil
}

// variable is the id of a service in names of variables of the environment.
func variable(id string) string { return strings.ToUpper(strings.ReplaceAll(id, " ", "_")) }

// configured returns the endpoint of the configuration, empty for none. As in the SDK, the
// environment's endpoint for all services precedes the profile's endpoint for the service.
func (c *Client) configured(ctx context.Context, id string) string {
	_, forAll := os.LookupEnv("AWS_ENDPOINT_URL")
	_, forService := os.LookupEnv("AWS_ENDPOINT_URL_" + variable(id))
	if ignored := first(ctx, c.config.ConfigSources, ignoringSource.GetIgnoreConfiguredEndpoints); !ignored && (forService || !forAll) {
		own := first(ctx, c.config.ConfigSources, func(s endpointSource, ctx context.Context) (string, bool, error) {
			return s.GetServiceBaseEndpoint(ctx, id)
		})
		if own != "" {
			return own
		}
	}
	return aws.ToString(c.config.BaseEndpoint)
}

// Sources of a configuration, as the SDK has them.
type (
	fipsSource interface {
		GetUseFIPSEndpoint(context.Context) (aws.FIPSEndpointState, bool, error)
	}
	dualStackSource interface {
		GetUseDualStackEndpoint(context.Context) (aws.DualStackEndpointState, bool, error)
	}
	ignoringSource interface {
		GetIgnoreConfiguredEndpoints(context.Context) (bool, bool, error)
	}
	endpointSource interface {
		GetServiceBaseEndpoint(ctx context.Context, sdkID string) (string, bool, error)
	}
)

// first returns the value of the first source that has one, the zero value if none has.
func first[S, V any](ctx context.Context, sources []any, get func(S, context.Context) (V, bool, error)) (value V) {
	for _, source := range sources {
		if s, ok := source.(S); ok {
			if found, ok, err := get(s, ctx); ok && err == nil {
				return found
			}
		}
	}
	return value
}

// URL returns the URL of the service in the region, and whether it has one.
func (s Service) URL(region string, fips, dual bool) (found string, ok bool) {
	in := partitionOf(region)
	suffix, host, variant := in.suffix, s.Prefix+"."+region, ""
	if fips {
		host, variant = s.Prefix+"-fips."+region, " fips"
	}
	if dual {
		suffix, variant = in.dualstack, variant+" dual"
	}
	if other := cmp.Or(s.Hosts[region+variant], s.Hosts[in.name+variant]); other != "" {
		host = strings.Replace(other, "REGION", region, 1)
	}
	if whole, ok := strings.CutSuffix(host, "."); ok {
		return "https://" + whole, true
	}
	return "https://" + host + "." + suffix, host != NoHost
}

func partitionOf(region string) partition {
	for _, p := range partitions {
		if strings.HasPrefix(region, p.region) {
			return p
		}
	}
	return partition{}
}

// urlOf returns the URL of a message. An endpoint may have a path, under which the service then is.
func urlOf(base string, m message) (*url.URL, error) {
	found, err := url.Parse(base)
	if err != nil || found.Host == "" || (found.Scheme != "https" && found.Scheme != "http") {
		return nil, errors.Join(fmt.Errorf("endpoint %q: want http://HOST or https://HOST", base), err)
	}
	escaped := strings.TrimSuffix(found.EscapedPath(), "/") + m.path
	if found.Path, err = url.PathUnescape(escaped); err != nil {
		return nil, err
	}
	found.RawPath, found.RawQuery = escaped, m.rawQuery
	return found, nil
}
