package origin

import (
	"net/url"
	"testing"
)

func TestSame(t *testing.T) {
	base := "https://api.x.test/v1"
	for other, want := range map[string]bool{
		"https://api.x.test/v2?a=b":       true,
		"https://API.x.test:443/":         true,
		"http://api.x.test/":              false,
		"https://api.x.test:444/":         false,
		"https://api.x.test.evil.test/":   false,
		"https://evil.test/?u=api.x.test": false,
	} {
		a, errA := url.Parse(base)
		b, errB := url.Parse(other)
		if errA != nil || errB != nil || Same(a, b) != want || Same(b, a) != want {
			t.Errorf("%s and %s: same %v, want %v", base, other, Same(a, b), want)
		}
	}
}

func TestBare(t *testing.T) {
	u, err := url.Parse("https://user:secret@api.x.test:444/a%2Fb?token=secret#secret")
	if want := "https://api.x.test:444/a%2Fb"; err != nil || Bare(u) != want {
		t.Errorf("got %s, want %s", Bare(u), want)
	}
}
