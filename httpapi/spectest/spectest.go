// Package spectest makes requests of what the OpenAPI document says, for tests
// that drive every operation there is. It imports the standard library.
package spectest

import (
	"encoding/base64"
	"strings"
)

type node = map[string]any

// Fill makes a value that fits a schema, with text as every string that is free.
// schemas are the components that the schema may refer to.
func Fill(schema, schemas node, text string) any {
	if ref, is := schema["$ref"].(string); is {
		return Fill(schemas[ref[strings.LastIndex(ref, "/")+1:]].(node), schemas, text)
	}
	kind, _ := schema["type"].(string)
	if list, is := schema["type"].([]any); is {
		kind = list[0].(string)
	}
	switch kind {
	case "object":
		out := node{}
		props, _ := schema["properties"].(node)
		for name, p := range props {
			out[name] = Fill(p.(node), schemas, text)
		}
		return out
	case "array":
		return []any{Fill(schema["items"].(node), schemas, text)}
	case "integer", "number":
		return 1
	case "boolean":
		return true
	}
	switch {
	case schema["enum"] != nil:
		return schema["enum"].([]any)[0]
	case schema["format"] == "date-time":
		return "2026-01-01T00:00:00Z"
	case schema["contentEncoding"] == "base64":
		return base64.StdEncoding.EncodeToString([]byte(text))
	}
	return text
}
