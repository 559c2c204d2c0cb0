package tenet_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// openAPI is what the reference takes from the document.
type openAPI struct {
	Paths      map[string]map[string]apiOperation
	Components struct{ Schemas map[string]apiSchema }
}

type apiOperation struct {
	OperationID, Summary, Description string
	Parameters                        []struct {
		Name, In string
		Required bool
	}
	RequestBody struct {
		Content map[string]struct{ Schema apiSchema }
	}
	Responses map[string]struct {
		Content map[string]struct{ Schema apiSchema }
	}
}

type apiSchema struct {
	Ref        string `json:"$ref"`
	Required   []string
	Properties map[string]json.RawMessage
}

// TestTheReferenceIsOfThisAPI: docs/api.md follows from the OpenAPI document.
// make generate-clients writes it.
func TestTheReferenceIsOfThisAPI(t *testing.T) {
	var doc openAPI
	if err := json.Unmarshal(apiDocument(t), &doc); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(`# The operations of the API

Made from the OpenAPI document that the server has at ` + "`/openapi.json`" + `, where the types and bounds of every field are; [http.md](http.md) says
what is promised. *S* stands for a subject: ` + "`/v1/users/{user}`, `/v1/projects/{project}` or `/v1/tenant`" + `. A field or parameter with a star is required.

`)
	n := 0
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		short := strings.Replace(path, "/v1/users/{user}", "*S* ", 1)
		if strings.HasPrefix(path, "/v1/projects/{project}") && doc.Paths[strings.Replace(path, "/v1/projects/{project}", "/v1/users/{user}", 1)] != nil ||
			strings.HasPrefix(path, "/v1/tenant") && doc.Paths[strings.Replace(path, "/v1/tenant", "/v1/users/{user}", 1)] != nil {
			continue // the same, of another kind of subject
		}
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			doc.Paths[path][method].write(&b, strings.ToUpper(method), short, doc.Components.Schemas)
			n++
		}
	}
	if n < 50 {
		t.Fatalf("only %d operations", n)
	}
	const file = "docs/api.md"
	if os.Getenv("TENET_GENERATE") != "" {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if readFile(t, file) != b.String() {
		t.Errorf("%s is not of this API: run make generate-clients", file)
	}
}

func (o apiOperation) write(b *strings.Builder, method, path string, schemas map[string]apiSchema) {
	if rest, ok := strings.CutPrefix(path, "*S* "); ok {
		path = "*S*`" + rest + "`"
	} else {
		path = "`" + path + "`"
	}
	fmt.Fprintf(b, "- `%s` %s: **%s**. %s", method, path, o.Summary, o.Description)
	var takes []string
	for _, p := range o.Parameters {
		if p.In != "path" {
			takes = append(takes, "`"+p.Name+"`"+star(p.Required))
		}
	}
	for _, media := range slices.Sorted(maps.Keys(o.RequestBody.Content)) {
		s := o.RequestBody.Content[media].Schema.resolved(schemas)
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if name != "$schema" {
				takes = append(takes, "`"+name+"`"+star(slices.Contains(s.Required, name)))
			}
		}
	}
	if len(takes) > 0 {
		fmt.Fprintf(b, " Takes %s.", strings.Join(takes, ", "))
	}
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		if status[0] != '2' {
			continue
		}
		fmt.Fprintf(b, " Answers %s", status)
		for _, media := range slices.Sorted(maps.Keys(o.Responses[status].Content)) {
			if name := o.Responses[status].Content[media].Schema.Ref; name != "" {
				fmt.Fprintf(b, " `%s`", name[strings.LastIndex(name, "/")+1:])
			}
		}
		b.WriteString(".")
	}
	b.WriteString("\n")
}

func star(required bool) string {
	if required {
		return "*"
	}
	return ""
}

// resolved is the schema that a reference names.
func (s apiSchema) resolved(schemas map[string]apiSchema) apiSchema {
	if s.Ref != "" {
		return schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	return s
}
