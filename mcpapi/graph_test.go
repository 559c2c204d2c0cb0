package mcpapi_test

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/mcpapi"
)

// TestTheReferenceMemoryServersTools: the nine tools do what the reference
// does, call by call.
func TestTheReferenceMemoryServersTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *mcpapi.Config) { c.CompatMemory = true })
	c := w.as("/mcp", w.key("acme", tenet.Agent, "sarah"))
	entity := func(name, kind string, obs ...string) obj {
		if obs == nil {
			obs = []string{}
		}
		return obj{"name": name, "entityType": kind, "observations": obs}
	}
	rel := func(from, kind, to string) obj { return obj{"from": from, "to": to, "relationType": kind} }
	alice, bob, bridge := entity("Alice", "person", "works at Acme"), entity("Bob", "person"), entity("Bob/../x", "weird", "a \"quote\"")
	empty := obj{"entities": []obj{}, "relations": []obj{}}
	for _, step := range []struct {
		tool string
		args obj
		want any // nil: an error
	}{
		{"read_graph", obj{}, empty},
		{"create_entities", obj{"entities": []obj{alice, bob, bridge}}, obj{"entities": []obj{alice, bob, bridge}}},
		{"create_entities", obj{"entities": []obj{entity("Alice", "robot"), entity("Carol", "person")}}, obj{"entities": []obj{entity("Carol", "person")}}},
		{"create_relations", obj{"relations": []obj{rel("Alice", "knows", "Bob"), rel("Alice", "knows", "Bob")}}, obj{"relations": []obj{rel("Alice", "knows", "Bob")}}},
		{"create_relations", obj{"relations": []obj{rel("Carol", "manages", "Bob")}}, obj{"relations": []obj{rel("Carol", "manages", "Bob")}}},
		{"add_observations", obj{"observations": []obj{{"entityName": "Bob", "contents": []string{"likes tea", "likes tea", "likes tea too"}}}},
			obj{"results": []obj{{"entityName": "Bob", "addedObservations": []string{"likes tea", "likes tea too"}}}}},
		{"add_observations", obj{"observations": []obj{{"entityName": "Nobody", "contents": []string{"x"}}}}, nil},
		{"search_nodes", obj{"query": "TEA"}, obj{"entities": []obj{entity("Bob", "person", "likes tea", "likes tea too")}, "relations": []obj{rel("Alice", "knows", "Bob"), rel("Carol", "manages", "Bob")}}},
		{"open_nodes", obj{"names": []string{"Alice", "Nobody"}}, obj{"entities": []obj{alice}, "relations": []obj{rel("Alice", "knows", "Bob")}}},
		{"delete_observations", obj{"deletions": []obj{{"entityName": "Bob", "observations": []string{"likes tea", "never was"}}, {"entityName": "Nobody", "observations": []string{"x"}}}},
			obj{"success": true, "message": "Observations deleted successfully"}},
		{"delete_relations", obj{"relations": []obj{rel("Carol", "manages", "Bob"), rel("x", "y", "z")}}, obj{"success": true, "message": "Relations deleted successfully"}},
		{"delete_entities", obj{"entityNames": []string{"Alice", "Nobody"}}, obj{"success": true, "message": "Entities deleted successfully"}},
		{"read_graph", obj{}, obj{"entities": []obj{bob2(entity), bridge, entity("Carol", "person")}, "relations": []obj{}}},
	} {
		got, text, failed := c.call(step.tool, step.args)
		if step.want == nil {
			if !failed || text != "Entity with name Nobody not found" {
				t.Errorf("%s: %q", step.tool, text)
			}
			continue
		}
		a, _ := json.Marshal(got)
		var want any
		b, _ := json.Marshal(step.want)
		ok(t, json.Unmarshal(b, &want))
		b, _ = json.Marshal(want)
		if failed || string(a) != string(b) {
			t.Errorf("%s %v:\n got %s %s\nwant %s", step.tool, step.args, a, text, b)
		}
	}
	r, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "memory://knowledge-graph"})
	ok(t, err)
	if len(r.Contents) != 1 {
		t.Errorf("the graph as a resource: %+v", r)
	}
	other := w.as("/mcp", w.key("globex", tenet.Agent, "sarah"))
	if got, _ := other.must("read_graph", obj{}); len(got["entities"].([]any)) != 0 {
		t.Error("another tenant reads the graph")
	}
}

func bob2(entity func(string, string, ...string) obj) obj {
	return entity("Bob", "person", "likes tea too")
}
