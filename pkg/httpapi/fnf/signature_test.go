package fnf

import (
	"testing"
)

// The example of the vendor's documentation on signatures.
func TestVendorExample(t *testing.T) {
	t.Parallel()
	given, err := parse("Signature=OLeaidS1JvxuMvnyHOwuJ%2BuX5qY%3D&Timestamp=2016-02-23T12%3A46%3A24Z&Format=XML&AccessKeyId=testid&" +
		"Action=DescribeRegions&SignatureMethod=HMAC-SHA1&SignatureNonce=3ee8c1b8-83d3-44af-a94f-4e0ad82fd6cf&Version=2014-05-26&SignatureVersion=1.0")
	if err != nil {
		t.Fatal(err)
	}
	if got := sign("testsecret", given.signed("GET")); got != given["Signature"] {
		t.Errorf("signed %s: %s", given.signed("GET"), got)
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	const text = "AZaz09-_.~ *+/=&%é\x00"
	if got := encode(text); got != "AZaz09-_.~%20%2A%2B%2F%3D%26%25%C3%A9%00" {
		t.Errorf("encoded %s", got)
	}
}
