package eval

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/tenet-memory/tenet"
)

// maxPublished bounds a published file.
const maxPublished = 2 << 30

func readPublished(path string, v any) error {
	const op = "convert"
	info, err := os.Stat(path)
	if err != nil {
		return tenet.Errorf(tenet.NotFound, op, "%s cannot be opened", path)
	}
	if info.Size() > maxPublished {
		return tenet.Errorf(tenet.Invalid, op, "%s is over 2 GiB", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return tenet.Errorf(tenet.Unavailable, op, "%s cannot be read", path)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return tenet.Errorf(tenet.Invalid, op, "%s is not the published form", path)
	}
	return nil
}

// locomoCategories are the file's numbers; several projects swap the names.
var locomoCategories = map[int]string{1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}

var diaID = regexp.MustCompile(`D(\d+):(\d+)`)

// ConvertLoCoMo reads the published file of LoCoMo conversations. Each
// conversation is a tenant, each turn a document: "[date] speaker: text
// [image: caption]", with the session, its date and the speaker as role. A
// question's gold are its evidence turns; malformed ids are repaired (several
// in one string are split, leading zeros dropped), ids that name no turn are
// left out. Adversarial questions, whose answer is not in the conversation,
// are excluded.
func ConvertLoCoMo(path string) (Set, error) {
	var published []struct {
		ID           string                     `json:"sample_id"`
		Conversation map[string]json.RawMessage `json:"conversation"`
		QA           []struct {
			Question string   `json:"question"`
			Evidence []string `json:"evidence"`
			Category int      `json:"category"`
		} `json:"qa"`
	}
	if err := readPublished(path, &published); err != nil {
		return Set{}, err
	}
	s := Set{Name: "locomo"}
	for i, c := range published {
		if c.ID == "" {
			c.ID = fmt.Sprintf("conv-%d", i)
		}
		known := map[string]bool{}
		for n := 1; ; n++ {
			raw, ok := c.Conversation["session_"+strconv.Itoa(n)]
			if !ok {
				if _, later := c.Conversation["session_"+strconv.Itoa(n+1)]; later {
					continue
				}
				break
			}
			var turns []struct {
				Speaker string `json:"speaker"`
				ID      string `json:"dia_id"`
				Text    string `json:"text"`
				Caption string `json:"blip_caption"`
			}
			var date string
			if json.Unmarshal(raw, &turns) != nil {
				return Set{}, tenet.Errorf(tenet.Invalid, "convert", "%s: session %d of %s is not a list of turns", path, n, c.ID)
			}
			json.Unmarshal(c.Conversation["session_"+strconv.Itoa(n)+"_date_time"], &date)
			for _, t := range turns {
				text := t.Speaker + ": " + t.Text
				if date != "" {
					text = "[" + date + "] " + text
				}
				if t.Caption != "" {
					text += " [image: " + t.Caption + "]"
				}
				known[t.ID] = true
				s.Docs = append(s.Docs, Doc{ID: c.ID + "/" + t.ID, Tenant: c.ID, Session: "S" + strconv.Itoa(n), Time: date, Role: t.Speaker, Text: text})
			}
		}
		for j, q := range c.QA {
			query := Query{
				ID: fmt.Sprintf("locomo_%d_qa%d", i, j), Tenant: c.ID, Category: locomoCategories[q.Category], Text: q.Question,
				Exclude: q.Category == 5, Gold: []string{},
			}
			for _, e := range q.Evidence {
				for _, m := range diaID.FindAllStringSubmatch(strings.ReplaceAll(e, "D:", "D"), -1) {
					session, _ := strconv.Atoi(m[1])
					turn, _ := strconv.Atoi(m[2])
					if id := fmt.Sprintf("D%d:%d", session, turn); known[id] {
						query.Gold = addOnce(query.Gold, c.ID+"/"+id)
					}
				}
			}
			s.Queries = append(s.Queries, query)
		}
	}
	return s, s.check(path)
}

func addOnce(list []string, id string) []string {
	for _, have := range list {
		if have == id {
			return list
		}
	}
	return append(list, id)
}

// ConvertLongMemEval reads the published file of LongMemEval (S or M). Each
// question has its own haystack and so is a tenant of its own. Documents are
// the user's turns, as in the official protocol; gold are those with
// has_answer in a session whose id holds "answer". Abstention questions (_abs)
// are excluded; questions without gold on the user's side don't count.
func ConvertLongMemEval(path string) (Set, error) {
	var published []struct {
		ID       string   `json:"question_id"`
		Type     string   `json:"question_type"`
		Question string   `json:"question"`
		Date     string   `json:"question_date"`
		Dates    []string `json:"haystack_dates"`
		IDs      []string `json:"haystack_session_ids"`
		Sessions [][]struct {
			Role      string `json:"role"`
			Content   string `json:"content"`
			HasAnswer bool   `json:"has_answer"`
		} `json:"haystack_sessions"`
	}
	if err := readPublished(path, &published); err != nil {
		return Set{}, err
	}
	s := Set{Name: "longmemeval"}
	for _, p := range published {
		q := Query{
			ID: p.ID, Tenant: p.ID, Category: p.Type, Text: p.Question, Time: p.Date, Exclude: strings.HasSuffix(p.ID, "_abs"), Gold: []string{},
		}
		for i, turns := range p.Sessions {
			name, date := "session "+strconv.Itoa(i), ""
			if i < len(p.IDs) {
				name = p.IDs[i]
			}
			if i < len(p.Dates) {
				date = p.Dates[i]
			}
			for j, t := range turns {
				if t.Role != "user" {
					continue
				}
				id := fmt.Sprintf("%s/%d/%s/%d", p.ID, i, name, j) // a session may stand twice in a haystack
				s.Docs = append(s.Docs, Doc{ID: id, Tenant: p.ID, Session: fmt.Sprintf("%d/%s", i, name), Time: date, Role: t.Role, Text: t.Content})
				if t.HasAnswer && strings.Contains(name, "answer") {
					q.Gold = append(q.Gold, id)
				}
			}
		}
		s.Queries = append(s.Queries, q)
	}
	return s, s.check(path)
}

func (s Set) check(path string) error {
	if len(s.Docs) == 0 || len(s.Queries) == 0 {
		return tenet.Errorf(tenet.Invalid, "convert", "%s holds no conversation, or no question", path)
	}
	return nil
}
