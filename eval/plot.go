package eval

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// WritePlot draws recall@5, @10 and @20 of each category as an SVG.
func (rep Report) WritePlot(w io.Writer) error {
	names := append([]string{"overall"}, slices.Sorted(maps.Keys(rep.Categories))...)
	const bar, gap, left, top, height = 22, 26, 46, 40, 240
	width := left + len(names)*(3*bar+gap) + 20
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n", width, top+height+60)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/><text x="%d" y="18" font-size="14">%s: recall@5, @10, @20 (n = %d)</text>`+"\n",
		left, escape(rep.Set), rep.Overall.N)
	for i := 0; i <= 10; i += 2 {
		y := top + height - height*i/10
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%d" y2="%d" stroke="#ddd"/><text x="%d" y="%d" text-anchor="end">%d%%</text>`+"\n", left, width-10, y, y, left-6, y+4, 10*i)
	}
	colours := [3]string{"#9ecae1", "#4292c6", "#08519c"}
	for i, name := range names {
		m := rep.Overall
		if i > 0 {
			m = rep.Categories[name]
		}
		x := left + 10 + i*(3*bar+gap)
		for j, v := range []float64{m.Recall5, m.Recall10, m.Recall20} {
			h := int(v*height + 0.5)
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/><text x="%d" y="%d" text-anchor="middle">%.0f</text>`+"\n",
				x+j*bar, top+height-h, bar-2, h, colours[j], x+j*bar+bar/2-1, top+height-h-3, 100*v)
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">%s</text><text x="%d" y="%d" text-anchor="middle" fill="#666">n %d</text>`+"\n",
			x+3*bar/2, top+height+16, escape(name), x+3*bar/2, top+height+30, m.N)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}
