package call

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
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
	// hosts are exceptions: what is before the suffix, by region or partition with " fips" or " dual".
	hosts map[string]string
}

func (s Service) signing() string { return cmp.Or(s.Signing, s.Prefix) }

// partition is a part of AWS.
type partition struct {
	name, region      string // region: how the names of its regions begin
	suffix, dualstack string
}

// partitions has the longer beginnings first. The last one has all regions that the others do not have.
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

// regionForm is that of a label of a host, so that no region makes another host.
var regionForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`) })

// endpoint returns the URL of a service: that of the configuration, or else that of the region.
func (c *Client) endpoint(ctx context.Context, s Service) (string, error) {
	if !regionForm().MatchString(c.config.Region) {
		return "", fmt.Errorf("region %q: want one such as us-east-1; set AWS_REGION", c.config.Region)
	}
	sources := c.config.ConfigSources
	ignored := first(sources, func(p interface {
		GetIgnoreConfiguredEndpoints(ctx context.Context) (bool, bool, error)
	}) (bool, bool, error) {
		return p.GetIgnoreConfiguredEndpoints(ctx)
	})
	own := first(sources, func(p interface {
		GetServiceBaseEndpoint(ctx context.Context, sdkID string) (string, bool, error)
	}) (string, bool, error) {
		return p.GetServiceBaseEndpoint(ctx, s.ID)
	})
	if own != "" && !ignored {
		return own, nil
	}
	if c.config.BaseEndpoint != nil {
		return *c.config.BaseEndpoint, nil
	}
	fips := first(sources, func(p interface {
		GetUseFIPSEndpoint(ctx context.Context) (aws.FIPSEndpointState, bool, error)
	}) (aws.FIPSEndpointState, bool, error) {
		return p.GetUseFIPSEndpoint(ctx)
	})
	dual := first(sources, func(p interface {
		GetUseDualStackEndpoint(ctx context.Context) (aws.DualStackEndpointState, bool, error)
	}) (aws.DualStackEndpointState, bool, error) {
		return p.GetUseDualStackEndpoint(ctx)
	})
	return s.url(c.config.Region, fips == aws.FIPSEndpointStateEnabled, dual == aws.DualStackEndpointStateEnabled), nil
}

// first returns the value of the first source that has one, the zero value if none has.
func first[P, V any](sources []any, get func(P) (V, bool, error)) (value V) {
	for _, source := range sources {
		if p, ok := source.(P); ok {
			if found, ok, err := get(p); ok && err == nil {
				return found
			}
		}
	}
	return value
}

// url returns the URL of the service in the region.
func (s Service) url(region string, fips, dual bool) string {
	in := partitionOf(region)
	suffix, host, variant := in.suffix, s.Prefix+"."+region, ""
	if fips {
		host, variant = s.Prefix+"-fips."+region, " fips"
	}
	if dual {
		suffix, variant = in.dualstack, variant+" dual"
	}
	if other := cmp.Or(s.hosts[region+variant], s.hosts[in.name+variant]); other != "" {
		host = strings.Replace(other, "REGION", region, 1)
	}
	return "https://" + host + "." + suffix
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
