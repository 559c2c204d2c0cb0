package mcpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// The nine tools of the protocol's reference memory server, over the gate. An
// entity and a relation are a document each: the agent's own word, versioned,
// never a fact. What the reference does silently stays silent; what the gate
// refuses is an error.

type entity struct {
	Name         string   `json:"name" jsonschema:"the entity's name"`
	Type         string   `json:"entityType"`
	Observations []string `json:"observations"`
}

type relation struct {
	From string `json:"from"`
	To   string `json:"to"`
	Type string `json:"relationType" jsonschema:"in active voice"`
}

type knowledge struct {
	Entities  []entity   `json:"entities"`
	Relations []relation `json:"relations"`
}

// node is an entity or relation as its document holds it; At orders them.
type node struct {
	Entity   *entity   `json:"entity,omitempty"`
	Relation *relation `json:"relation,omitempty"`
	At       int64     `json:"at"`

	path, sha string
}

type entitiesIO struct {
	Entities []entity `json:"entities"`
}

type relationsIO struct {
	Relations []relation `json:"relations"`
}

type observationsIn struct {
	Observations []struct {
		Entity   string   `json:"entityName"`
		Contents []string `json:"contents"`
	} `json:"observations"`
}

type added struct {
	Entity string   `json:"entityName"`
	Added  []string `json:"addedObservations"`
}

type observationsOut struct {
	Results []added `json:"results"`
}

type entityNames struct {
	Names []string `json:"entityNames"`
}

type deletions struct {
	Deletions []struct {
		Entity       string   `json:"entityName"`
		Observations []string `json:"observations"`
	} `json:"deletions"`
}

type done struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
}

type nothing struct{}

type graphQuery struct {
	Query string `json:"query" jsonschema:"matched against names, types and observations"`
}

type graphNames struct {
	Names []string `json:"names"`
}

const (
	graphPrefix = "graph/"
	graphURI    = "memory://knowledge-graph"
	maxNodes    = 5000 // read at once; the reference reads its whole file
)

// nodePath addresses an entity or relation whatever its name holds.
func nodePath(kind string, parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(prefixed(p)))
	}
	return graphPrefix + kind + "/" + hex.EncodeToString(h.Sum(nil)[:20])
}

// prefixed length-prefixes a part, so that no two lists of parts read alike.
func prefixed(s string) string {
	n, _ := json.Marshal(len(s))
	return string(n) + ":" + s
}

func (e entity) path() string   { return nodePath("entity", e.Name) }
func (r relation) path() string { return nodePath("relation", r.From, r.Type, r.To) }

// loadGraph reads all nodes in the order they were made.
func (t *tools) loadGraph(ctx context.Context, c *caller) ([]node, error) {
	var out []node
	for after := ""; ; {
		ds, err := t.mem.Documents(ctx, c.by, c.scope, graphPrefix, after, 500)
		if err != nil {
			return nil, err
		}
		for _, d := range ds {
			var n node
			if json.Unmarshal([]byte(d.Text), &n) == nil && (n.Entity != nil || n.Relation != nil) {
				n.path, n.sha = d.Path, d.SHA256
				out = append(out, n)
			}
		}
		if len(ds) < 500 {
			break
		}
		if len(out) > maxNodes {
			return nil, tenet.Errorf(tenet.Invalid, "graph", "over %d entities and relations: use Tenet's own tools", maxNodes)
		}
		after = ds[len(ds)-1].Path
	}
	slices.SortStableFunc(out, func(a, b node) int { return int(a.At - b.At) })
	return out, nil
}

func graphOf(ns []node) knowledge {
	k := knowledge{[]entity{}, []relation{}}
	for _, n := range ns {
		if n.Entity != nil {
			k.Entities = append(k.Entities, *n.Entity)
		} else {
			k.Relations = append(k.Relations, *n.Relation)
		}
	}
	return k
}

func (t *tools) put(ctx context.Context, c *caller, path, sha string, n node) error {
	data, err := json.Marshal(n)
	if err != nil {
		return tenet.Errorf(tenet.Internal, "graph", "the node does not encode")
	}
	_, err = t.mem.PutDocument(ctx, c.by, c.scope, memory.DocumentPut{Path: path, Text: string(data), IfSHA256: sha})
	return err
}

// change rewrites one entity as read, again when somebody was faster.
func (t *tools) change(ctx context.Context, c *caller, name string, edit func(*entity) bool) error {
	for attempt := 0; ; attempt++ {
		d, err := t.mem.Document(ctx, c.by, c.scope, entity{Name: name}.path())
		if err != nil {
			return err
		}
		var n node
		if json.Unmarshal([]byte(d.Text), &n) != nil || n.Entity == nil {
			return tenet.Errorf(tenet.NotFound, "graph", "no such entity")
		}
		if !edit(n.Entity) {
			return nil
		}
		err = t.put(ctx, c, d.Path, d.SHA256, n)
		if tenet.KindOf(err) != tenet.Conflict || attempt == 8 {
			return err
		}
	}
}

// missing is the reference's own error. It repeats a name that the caller gave.
func missing(err error, name string) error {
	if tenet.KindOf(err) == tenet.NotFound {
		return unknownEntity(name)
	}
	return err
}

// unknownEntity is the one error whose words the reference's clients match.
type unknownEntity string

func (e unknownEntity) Error() string { return "Entity with name " + string(e) + " not found" }

func (t *tools) graph() {
	creates, deletes, reads := hints{}, hints{destroys: true, idempotent: true}, hints{reads: true, idempotent: true}
	at := func() int64 { return time.Now().UnixNano() }
	add(t, "create_entities", "Create Entities", "Create multiple new entities in the knowledge graph", creates, bounds{"entities": items(500)},
		func(ctx context.Context, c *caller, in *entitiesIO) (answer[entitiesIO], error) {
			out := entitiesIO{[]entity{}}
			for i, e := range in.Entities {
				err := t.put(ctx, c, e.path(), memory.NoContent, node{Entity: &e, At: at() + int64(i)})
				if tenet.KindOf(err) == tenet.Conflict {
					continue // there is one of that name
				}
				if err != nil {
					return answer[entitiesIO]{}, err
				}
				out.Entities = append(out.Entities, e)
			}
			return answer[entitiesIO]{out: out}, nil
		})
	add(t, "create_relations", "Create Relations", "Create multiple new relations between entities in the knowledge graph. Relations should be in active voice", creates, bounds{"relations": items(500)},
		func(ctx context.Context, c *caller, in *relationsIO) (answer[relationsIO], error) {
			out := relationsIO{[]relation{}}
			for i, r := range in.Relations {
				err := t.put(ctx, c, r.path(), memory.NoContent, node{Relation: &r, At: at() + int64(i)})
				if tenet.KindOf(err) == tenet.Conflict {
					continue
				}
				if err != nil {
					return answer[relationsIO]{}, err
				}
				out.Relations = append(out.Relations, r)
			}
			return answer[relationsIO]{out: out}, nil
		})
	add(t, "add_observations", "Add Observations", "Add new observations to existing entities in the knowledge graph", creates, bounds{"observations": items(500)},
		func(ctx context.Context, c *caller, in *observationsIn) (answer[observationsOut], error) {
			out := observationsOut{[]added{}}
			for _, o := range in.Observations {
				got := added{o.Entity, []string{}}
				err := t.change(ctx, c, o.Entity, func(e *entity) bool {
					got.Added = []string{}
					for _, text := range o.Contents {
						if !slices.Contains(e.Observations, text) {
							e.Observations = append(e.Observations, text)
							got.Added = append(got.Added, text)
						}
					}
					return len(got.Added) > 0
				})
				if err != nil {
					return answer[observationsOut]{}, missing(err, o.Entity)
				}
				out.Results = append(out.Results, got)
			}
			return answer[observationsOut]{out: out}, nil
		})
	add(t, "delete_entities", "Delete Entities", "Delete multiple entities and their associated relations from the knowledge graph", deletes, bounds{"entityNames": items(500)},
		func(ctx context.Context, c *caller, in *entityNames) (answer[done], error) {
			ns, err := t.loadGraph(ctx, c)
			if err != nil {
				return answer[done]{}, err
			}
			for _, n := range ns {
				if n.Entity != nil && slices.Contains(in.Names, n.Entity.Name) ||
					n.Relation != nil && (slices.Contains(in.Names, n.Relation.From) || slices.Contains(in.Names, n.Relation.To)) {
					if err := t.drop(ctx, c, n.path); err != nil {
						return answer[done]{}, err
					}
				}
			}
			return answer[done]{out: done{true, "Entities deleted successfully"}}, nil
		})
	add(t, "delete_observations", "Delete Observations", "Delete specific observations from entities in the knowledge graph", deletes, bounds{"deletions": items(500)},
		func(ctx context.Context, c *caller, in *deletions) (answer[done], error) {
			for _, d := range in.Deletions {
				err := t.change(ctx, c, d.Entity, func(e *entity) bool {
					n := len(e.Observations)
					e.Observations = slices.DeleteFunc(e.Observations, func(o string) bool { return slices.Contains(d.Observations, o) })
					return len(e.Observations) != n
				})
				if err != nil && tenet.KindOf(err) != tenet.NotFound {
					return answer[done]{}, err
				}
			}
			return answer[done]{out: done{true, "Observations deleted successfully"}}, nil
		})
	add(t, "delete_relations", "Delete Relations", "Delete multiple relations from the knowledge graph", deletes, bounds{"relations": items(500)},
		func(ctx context.Context, c *caller, in *relationsIO) (answer[done], error) {
			for _, r := range in.Relations {
				if err := t.drop(ctx, c, r.path()); err != nil {
					return answer[done]{}, err
				}
			}
			return answer[done]{out: done{true, "Relations deleted successfully"}}, nil
		})
	add(t, "read_graph", "Read Graph", "Read the entire knowledge graph", reads, nil,
		func(ctx context.Context, c *caller, _ *nothing) (answer[knowledge], error) {
			ns, err := t.loadGraph(ctx, c)
			return answer[knowledge]{out: graphOf(ns)}, err
		})
	add(t, "search_nodes", "Search Nodes", "Search for nodes in the knowledge graph based on a query", reads, bounds{"query": chars(0, 65536)},
		func(ctx context.Context, c *caller, in *graphQuery) (answer[knowledge], error) {
			q := strings.ToLower(in.Query)
			has := func(s string) bool { return strings.Contains(strings.ToLower(s), q) }
			return t.selected(ctx, c, func(e entity) bool { return has(e.Name) || has(e.Type) || slices.ContainsFunc(e.Observations, has) })
		})
	add(t, "open_nodes", "Open Nodes", "Open specific nodes in the knowledge graph by their names", reads, bounds{"names": items(500)},
		func(ctx context.Context, c *caller, in *graphNames) (answer[knowledge], error) {
			return t.selected(ctx, c, func(e entity) bool { return slices.Contains(in.Names, e.Name) })
		})
	t.srv.AddResource(&mcp.Resource{URI: graphURI, Name: "knowledge-graph", Title: "Knowledge Graph", MIMEType: "application/json"},
		func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			c, err := t.caller(req.Extra)
			if err != nil {
				return nil, mcp.ResourceNotFoundError(req.Params.URI)
			}
			ns, err := t.loadGraph(ctx, c)
			if err != nil {
				return nil, failed(err)
			}
			data, _ := json.Marshal(graphOf(ns))
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "application/json", Text: string(data)}}}, nil
		})
}

// drop deletes a node; one that is not there is fine.
func (t *tools) drop(ctx context.Context, c *caller, path string) error {
	err := t.mem.DeleteDocument(ctx, c.by, c.scope, path, "")
	if tenet.KindOf(err) == tenet.NotFound {
		return nil
	}
	return err
}

// selected are the entities that match, with the relations that touch one.
func (t *tools) selected(ctx context.Context, c *caller, match func(entity) bool) (answer[knowledge], error) {
	ns, err := t.loadGraph(ctx, c)
	if err != nil {
		return answer[knowledge]{}, err
	}
	all := graphOf(ns)
	out := knowledge{[]entity{}, []relation{}}
	chosen := map[string]bool{}
	for _, e := range all.Entities {
		if match(e) {
			out.Entities = append(out.Entities, e)
			chosen[e.Name] = true
		}
	}
	for _, r := range all.Relations {
		if chosen[r.From] || chosen[r.To] {
			out.Relations = append(out.Relations, r)
		}
	}
	return answer[knowledge]{out: out}, nil
}
