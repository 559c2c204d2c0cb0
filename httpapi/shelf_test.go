package httpapi_test

import (
	"fmt"
	"net/url"
	"testing"
)

// Frameworks keep many small versions: in one call, found by the shape of
// their ids, the first of an id staying.
func TestBatchesOfVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent, base := w.as("agent"), "/v1/users/sarah/threads"
	version := func(id, data string) obj { return obj{"id": id, "data": []byte(data)} }
	w.want(agent.do("POST", base+"/lg%2Fone/versions", obj{"versions": []obj{version("c/1", "one"), version("c/2", "two"), version("b/1", "blob")}}), 204)
	w.want(agent.do("POST", base+"/lg%2Fone/versions", obj{"versions": []obj{version("c/1", "other")}}), 204)
	found := w.want(agent.do("POST", base+"/lg%2Fone/find", obj{"prefix": "c/"}), 200)
	if found.at("versions.0.id") != "c/2" || found.at("versions.1.id") != "c/1" || found.at("versions.2") != nil {
		t.Errorf("found by prefix: %v", found)
	}
	if got := found.at("versions.1.data"); got != "b25l" { // "one"
		t.Errorf("the first of an id did not stay: %v", got)
	}
	again := version("c/1", "other")
	again["replace"] = true
	w.want(agent.do("POST", base+"/lg%2Fone/versions", obj{"versions": []obj{again}}), 204)
	found = w.want(agent.do("POST", base+"/lg%2Fone/find", obj{"ids": []string{"c/1", "nope"}}), 200)
	if found.at("versions.0.data") != "b3RoZXI=" || found.at("versions.1") != nil {
		t.Errorf("named: %v", found)
	}
	w.want(agent.do("POST", base+"/lg%2Ftwo/versions", obj{"versions": []obj{version("c/1", "x")}}), 204)
	page := w.want(agent.do("GET", base+"?prefix=lg/&limit=1", nil), 200)
	if page.at("items.0.name") != "lg/one" || page.at("next") == nil || page.at("items.0.newest_at") == nil {
		t.Errorf("threads: %v", page)
	}
	page = w.want(agent.do("GET", base+"?prefix=lg/&limit=1&cursor="+fmt.Sprint(page.at("next")), nil), 200)
	if page.at("items.0.name") != "lg/two" || page.at("next") != nil {
		t.Errorf("the next page: %v", page)
	}
	removed := w.want(agent.do("POST", base+"/lg%2Fone/remove", obj{"ids": []string{"c/1", "nope"}}), 200)
	if removed.at("dropped") != 1.0 {
		t.Errorf("removed: %v", removed)
	}
	w.want(agent.do("POST", base+"/lg%2Fone/versions", obj{"versions": []obj{version("", "x")}}), 400)
	if other := w.want(w.as("globex/agent").do("GET", base, nil), 200); other.at("items.0") != nil {
		t.Errorf("another tenant sees threads: %v", other)
	}
}

// A search of documents ranks those under the prefix, whatever else is known.
func TestDocumentsAreFoundByMeaning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent, base := w.as("agent"), "/v1/users/sarah/documents"
	for path, text := range map[string]string{
		"notes%2Fhotel": "Quiet hotel near the station in Lisbon", "notes%2Fflight": "Flight AC118 was cancelled",
		"other%2Fhotel": "Another quiet hotel",
	} {
		w.want(agent.do("PUT", base+"/"+path, obj{"text": text}), 200)
	}
	hits := w.want(agent.do("POST", base+"-search", obj{"prefix": "notes/", "query": "a quiet hotel"}), 200)
	if hits.at("hits.0.path") != "notes/hotel" || hits.at("hits.0.score") == nil || hits.at("hits.1.path") == "other/hotel" {
		t.Errorf("hits: %v", hits)
	}
	if none := w.want(agent.do("POST", base+"-search", obj{"prefix": "nowhere/", "query": "hotel"}), 200); none.at("hits.0") != nil {
		t.Errorf("hits outside the prefix: %v", none)
	}
	w.want(agent.do("POST", base+"-search", obj{"prefix": "notes/", "query": ""}), 400)
}

// TestACursorBelongsToOneList, whatever threads are called.
func TestACursorBelongsToOneList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent := w.as("agent")
	const threads = "/v1/users/sarah/threads"
	for _, name := range []string{"a1", "a2", "of a"} {
		w.want(agent.do("PUT", threads+"/"+url.PathEscape(name)+"/versions/v1", obj{"data": "eA=="}), 200)
	}
	next := w.want(agent.do("GET", threads+"?prefix=a&limit=1", nil), 200).at("next").(string)
	w.want(agent.do("GET", threads+"?prefix=a&cursor="+next, nil), 200)
	for _, other := range []string{threads + "?prefix=o", threads + "/of%20a/versions?limit=1", threads + "/a/versions?limit=1"} {
		w.want(agent.do("GET", other+"&cursor="+next, nil), 400)
	}
}
