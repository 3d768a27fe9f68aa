package web

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// description is the OpenAPI description of the API. What of a request is valid
// is read from it, so that it can't be wrong.
//
//go:embed openapi.json
var description []byte

// maxBody bounds the body of a request, in bytes.
const maxBody = 1 << 20

// A validator checks the requests of one operation.
type validator struct {
	body     *jsonschema.Schema // nil: there is none
	required bool
	query    map[string]parameter
	header   map[string]parameter
}

// A parameter is text that must fit a schema.
type parameter struct {
	schema  *jsonschema.Schema
	integer bool
}

// operation is what is read of an operation of the description.
type operation struct {
	Parameters []struct {
		Name, In string
		Schema   struct{ Type any }
	}
	RequestBody *struct{ Required bool }
}

// operations reads the description, once.
var operations = sync.OnceValue(func() map[string]map[string]operation {
	var doc struct {
		Paths map[string]map[string]operation
	}
	if err := json.Unmarshal(description, &doc); err != nil {
		panic(fmt.Sprintf("openapi.json: %v", err)) // a fault of this program, which any test finds
	}
	return doc.Paths
})

// described returns the validator of an operation.
func described(method, path string) validator {
	op, ok := operations()[path][strings.ToLower(method)]
	if !ok {
		panic(fmt.Sprintf("openapi.json does not describe %s %s", method, path))
	}
	v := validator{query: map[string]parameter{}, header: map[string]parameter{}}
	at := "#/paths/" + strings.ReplaceAll(path, "/", "~1") + "/" + strings.ToLower(method)
	for i, p := range op.Parameters {
		param := parameter{compiled(fmt.Sprintf("%s/parameters/%d/schema", at, i)), p.Schema.Type == "integer"}
		switch p.In {
		case "query":
			v.query[p.Name] = param
		case "header":
			v.header[p.Name] = param
		}
	}
	if op.RequestBody != nil {
		v.required = op.RequestBody.Required
		v.body = compiled(at + "/requestBody/content/application~1json/schema")
	}
	return v
}

func compiled(at string) *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(description))
	if err != nil {
		panic(fmt.Sprintf("openapi.json: %v", err))
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("openapi.json", doc); err != nil {
		panic(fmt.Sprintf("openapi.json: %v", err))
	}
	return c.MustCompile("openapi.json" + at)
}

// check returns the body of a valid request.
func (v validator) check(req *http.Request) ([]byte, *Problem) {
	var wrong []string
	for _, name := range []string{"user", "provider", "id"} {
		if !isText(req.PathValue(name)) {
			wrong = append(wrong, "the "+name+" in the path is no text")
		}
	}
	for name, values := range req.URL.Query() {
		p, known := v.query[name]
		switch {
		case !isText(name) || !isText(values[0]):
			wrong = append(wrong, "a parameter is no text")
		case !known:
			wrong = append(wrong, fmt.Sprintf("there is no parameter %q", name))
		case len(values) > 1:
			wrong = append(wrong, name+" is there twice")
		default:
			wrong = append(wrong, p.check(name, values[0])...)
		}
	}
	for name, p := range v.header {
		if value := req.Header.Get(name); value != "" {
			wrong = append(wrong, p.check(name, value)...)
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return nil, invalid(http.StatusBadRequest, wrong)
	}
	return v.read(req)
}

// isText reports whether a database can hold a text: no ids are stored but such.
func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

func (p parameter) check(name, value string) []string {
	var v any = value
	if p.integer {
		n, err := strconv.Atoi(value)
		if err != nil {
			return []string{name + " is a whole number"}
		}
		v = json.Number(strconv.Itoa(n))
	}
	return complaints(name, p.schema.Validate(v))
}

// read returns the body, which must be JSON of the right shape.
func (v validator) read(req *http.Request) ([]byte, *Problem) {
	if req.Body == nil {
		req.Body = http.NoBody
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, Fault(http.StatusBadRequest, "invalid", "the body breaks off")
	case len(body) > maxBody:
		return nil, Fault(http.StatusRequestEntityTooLarge, "too_large", "the body has more than %d bytes", maxBody)
	case len(bytes.TrimSpace(body)) == 0 && !v.required:
		return nil, nil
	case len(bytes.TrimSpace(body)) == 0 && v.body != nil:
		return nil, Fault(http.StatusBadRequest, "invalid", "there is no body: this call takes JSON")
	case v.body == nil:
		return nil, Fault(http.StatusBadRequest, "invalid", "there is a body, and this call takes none")
	}
	if kind, _, _ := strings.Cut(req.Header.Get("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		return nil, Fault(http.StatusUnsupportedMediaType, "not_json", "send JSON, and say so: Content-Type: application/json")
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return nil, Fault(http.StatusBadRequest, "invalid", "the body is not JSON")
	}
	if wrong := complaints("the body", v.body.Validate(value)); wrong != nil {
		return nil, invalid(http.StatusUnprocessableEntity, wrong)
	}
	return body, nil
}

func invalid(status int, wrong []string) *Problem {
	p := Fault(status, "invalid", "the request is not as /v1/openapi.json describes it")
	p.Errors = wrong
	return p
}

// english spells what is wrong with a value.
var english = message.NewPrinter(language.English)

// complaints lists what is wrong, each with its place. Schemas of secrets have no
// pattern: their complaints show no value.
func complaints(what string, err error) []string {
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return nil
	}
	var out []string
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			place := strings.Join(append([]string{what}, e.InstanceLocation...), "/")
			out = append(out, place+": "+e.ErrorKind.LocalizedString(english))
		}
		for _, cause := range e.Causes {
			walk(cause)
		}
	}
	walk(invalid)
	slices.Sort(out)
	return out
}
