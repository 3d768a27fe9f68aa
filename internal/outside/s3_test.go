package outside

import (
	"net/url"
	"strings"
	"testing"
)

func (l S3List) keys() []string {
	var keys []string
	for _, object := range l.Contents {
		keys = append(keys, object.Key)
	}
	return keys
}

func TestS3(t *testing.T) {
	t.Parallel()
	s := S3(t)
	s.Put(t, "a.json", `{"id":1}`)
	made := s.List(t, "")
	wantTexts(t, "listed", made.keys(), "a.json")
	s.Put(t, "a.json", `{"id":1,"changed":true}`)
	changed := s.List(t, "")
	if changed.Contents[0].ETag == made.Contents[0].ETag {
		t.Errorf("ETag of both versions: %s", changed.Contents[0].ETag)
	}
	answer := s.Call(t, "GET", "/"+Bucket+"/a.json", nil)
	if got, want := string(answer.Body), `{"id":1,"changed":true}`; got != want {
		t.Errorf("content: got %s, want %s", got, want)
	}
	s.Delete(t, "a.json")
	gone := s.Call(t, "GET", "/"+Bucket+"?list-type=2", nil)
	if body := string(gone.Body); strings.Contains(body, "Contents") || strings.Contains(body, "KeyCount") {
		t.Errorf("an empty bucket has no Contents and no KeyCount: got %s", body)
	}
	if got, want := s.Ask(t, "GET", "/"+Bucket+"/a.json", nil).Status, 404; got != want {
		t.Errorf("status of what is deleted: got %d, want %d", got, want)
	}
	if got, want := s.Ask(t, "DELETE", "/"+Bucket+"/a.json", nil).Status, 204; got != want {
		t.Errorf("status of a second deletion: got %d, want %d", got, want)
	}
}

func TestS3Pages(t *testing.T) {
	t.Parallel()
	s := S3(t)
	for _, key := range []string{"z.json", "c/e.json", "b.json", "a.json", "c/d.json", "B.json"} {
		s.Put(t, key, "{}")
	}
	var pages []string
	query := "max-keys=2"
	for {
		list := s.List(t, query)
		pages = append(pages, strings.Join(list.keys(), " "))
		// The last page is full, and so gofakes3 gives a token beside IsTruncated false.
		if !list.IsTruncated {
			if list.NextContinuationToken == "" {
				t.Error("the last page, which is full, has no token now")
			}
			break
		}
		query = url.Values{"max-keys": {"2"}, "continuation-token": {list.NextContinuationToken}}.Encode()
	}
	wantTexts(t, "pages", pages, "B.json a.json", "b.json c/d.json", "c/e.json z.json") // in the order of bytes

	for _, test := range []struct {
		query string
		want  []string
	}{
		{"start-after=c/d.json", []string{"c/e.json", "z.json"}},
		{"start-after=c/dx", []string{"c/e.json", "z.json"}}, // need not be a key
		{"start-after=b.json&max-keys=1", []string{"c/d.json"}},
		{"max-keys=0&start-after=c", []string{"c/d.json", "c/e.json", "z.json"}},
		{"prefix=c/", []string{"c/d.json", "c/e.json"}},
		{"max-keys=5000&start-after=b.json", []string{"c/d.json", "c/e.json", "z.json"}},
	} {
		wantTexts(t, test.query, s.List(t, test.query).keys(), test.want...)
	}
	for _, test := range []struct {
		path string
		want int
	}{
		{"/" + Bucket + "?list-type=2&max-keys=x", 400},
		{"/" + Bucket + "?list-type=2&continuation-token=%25", 400},
		{"/nothing?list-type=2", 404},
	} {
		if got := s.Ask(t, "GET", test.path, nil).Status; got != test.want {
			t.Errorf("%s: got status %d, want %d", test.path, got, test.want)
		}
	}
}
