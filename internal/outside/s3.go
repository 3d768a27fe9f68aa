package outside

import (
	"encoding/xml"
	"os/exec"
	"testing"
)

// Bucket is the one bucket that an S3 server begins with.
const Bucket = "records"

// An S3Server is gofakes3, with one empty bucket in memory.
type S3Server struct {
	Server
}

// S3 starts an S3 server, which ends with the test. It takes any signature or none.
//
// The list is GET /records?list-type=2 (ListObjectsV2,
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html):
//
//	<?xml version="1.0" encoding="UTF-8"?>
//	<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
//	  <Name>records</Name>
//	  <IsTruncated>true</IsTruncated>
//	  <Prefix></Prefix>
//	  <MaxKeys>2</MaxKeys>
//	  <Contents>
//	    <Key>c/d.json</Key>
//	    <LastModified>2026-12-01T04:23:44.688Z</LastModified>
//	    <ETag>&#34;798c8f2b8df27ad9042edf5daa26c453&#34;</ETag>
//	    <Size>16</Size>
//	  </Contents>
//	  <Contents>...</Contents>
//	  <ContinuationToken>Yi5qc29u</ContinuationToken>
//	  <KeyCount>2</KeyCount>
//	  <NextContinuationToken>Yy9lLmpzb24=</NextContinuationToken>
//	</ListBucketResult>
//
// What connectors must stand, as the tests of this file show:
//
//   - It is XML: one object is one <Contents>, which a reader that makes objects of
//     elements takes for no list, and none is no element at all; KeyCount is missing then too.
//   - IsTruncated ends the walk, not the token: a last page that is full has IsTruncated
//     false and a NextContinuationToken (Amazon's has none).
//   - A token is base64 with = at its end (Amazon's has + and / too): escape it in
//     the query. It wins over start-after, and one that was made up is status 400.
//   - start-after excludes its key, which need not exist. Keys are in the order of
//     their bytes, B.json before a.json, so nothing is in the order of time.
//   - max-keys is 1000 when more is asked for, as by default, and the list does not
//     say so but by MaxKeys. Here 0 is everything (Amazon's: nothing).
//   - A key is a path: escape each of its segments to fetch it. The ETag is in quotes.
//   - What is deleted is gone from the list. Deleting it again is status 204.
//   - Errors are XML: <Error><Code>NoSuchKey</Code><Resource>c/d.json</Resource></Error>.
func S3(tb testing.TB) *S3Server {
	tb.Helper()
	program := gofakes3.need(tb)
	address := serve(tb, service{name: "gofakes3", dir: tb.TempDir(), health: "/", command: func(address string) *exec.Cmd {
		return exec.Command(program, "-backend", "memory", "-initialbucket", Bucket, "-host", address)
	}})
	return &S3Server{newServer(tb, address)}
}

// Put stores an object under a key that needs no escaping in a URL.
func (s *S3Server) Put(tb testing.TB, key, content string) {
	tb.Helper()
	s.Call(tb, "PUT", "/"+Bucket+"/"+key, []byte(content))
}

// Delete removes an object.
func (s *S3Server) Delete(tb testing.TB, key string) {
	tb.Helper()
	s.Call(tb, "DELETE", "/"+Bucket+"/"+key, nil)
}

// An S3List is an answer to ListObjectsV2.
type S3List struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	IsTruncated           bool
	NextContinuationToken string
	KeyCount              int
	Contents              []struct {
		Key          string
		LastModified string
		ETag         string
		Size         int64
	}
}

// List lists the bucket by ListObjectsV2 with more parameters, such as "max-keys=2".
func (s *S3Server) List(tb testing.TB, query string) S3List {
	tb.Helper()
	answer := s.Call(tb, "GET", "/"+Bucket+"?list-type=2&"+query, nil)
	var list S3List
	if err := xml.Unmarshal(answer.Body, &list); err != nil {
		tb.Fatalf("read %s: %v", answer.Body, err)
	}
	return list
}
