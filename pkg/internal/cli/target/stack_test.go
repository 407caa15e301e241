package target

import "testing"

func TestHostOfAPIGatewayNamesItsRegion(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"abc.execute-api.eu-north-1.amazonaws.com": "eu-north-1", "abc.execute-api.cn-north-1.amazonaws.com.cn": "cn-north-1",
		"abc.execute-api.eu-north-1.amazonaws.com.example.org": "", "api.example.org": "", "localhost": "",
	} {
		found := append(gatewayHost().FindStringSubmatch(host), "", "")[:2][1]
		if found != want {
			t.Errorf("%s: region %q, want %q", host, found, want)
		}
	}
}

func TestHostsOfStacks(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"abc.execute-api.eu-north-1.amazonaws.com": true, "abc.execute-api.cn-north-1.amazonaws.com.cn": true,
		"localhost": true, "abc.execute-api.localhost": true, "127.0.0.1": true, "::1": true,
		"abc.execute-api.eu-north-1.amazonaws.com.example.org": false, "example.org": false, "192.0.2.1": false, "localhost.example.org": false,
	} {
		if got := isTrusted(host); got != want {
			t.Errorf("%s: trusted %v, want %v", host, got, want)
		}
	}
}
