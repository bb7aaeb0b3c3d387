package test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/soak"
)

// prefer has a tab say that its person reads a language.
func prefer(language string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		var agent string
		if err := chromedp.Evaluate("navigator.userAgent", &agent).Do(ctx); err != nil {
			return err
		}
		return emulation.SetUserAgentOverride(agent).WithAcceptLanguage(language).Do(ctx)
	})
}

// sentences are those of a catalogue, by id and form.
func sentences(t *testing.T, language string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "internal", "words", language, "*.toml"))
	require.NoError(t, err)
	all := map[string]string{}
	var collect func(id string, v any)
	collect = func(id string, v any) {
		switch v := v.(type) {
		case string:
			all[id] = v
		case map[string]any:
			for name, one := range v {
				collect(id+"."+name, one)
			}
		}
	}
	for _, path := range paths {
		var file map[string]any
		_, err := toml.DecodeFile(path, &file)
		require.NoError(t, err)
		collect("", file)
	}
	require.Greater(t, len(all), 500)
	return all
}

var (
	sentenceEnds = regexp.MustCompile(`([.!?…:])\s+`)
	argument     = regexp.MustCompile(`{{[^}]*}}`)
	wordOf       = regexp.MustCompile(`\pL{2,}`)
)

// pieces returns the sentences in a text, each with single spaces.
func pieces(text string) []string {
	text = strings.TrimSpace(spaces.ReplaceAllString(text, " "))
	return strings.Split(sentenceEnds.ReplaceAllString(text, "$1\n"), "\n")
}

// tongue matches what a language says.
type tongue struct{ says []*regexp.Regexp }

// tongueOf returns what matches the sentences of a language, without those that another one says in the same way.
// What a language calls itself belongs to neither.
func tongueOf(own, other map[string]string) (all tongue) {
	for _, id := range slices.Sorted(maps.Keys(own)) {
		if own[id] == other[id] || id == ".language.name" {
			continue
		}
		for _, piece := range pieces(own[id]) {
			fixed := argument.Split(piece, -1)
			words := len(wordOf.FindAllString(strings.Join(fixed, " "), -1))
			if words == 0 || words == 1 && len(fixed) > 1 { // "{{.Count}} min" is no sentence
				continue
			}
			for i, f := range fixed {
				fixed[i] = regexp.QuoteMeta(f)
			}
			all.says = append(all.says, regexp.MustCompile("^"+strings.Join(fixed, ".+")+"$"))
		}
	}
	return all
}

func (g tongue) speaks(piece string) bool {
	return slices.ContainsFunc(g.says, func(r *regexp.Regexp) bool { return r.MatchString(piece) })
}

// allSaid returns all that pages say to those who see and hear them, without names that others gave, by language.
const allSaid = `(async (paths) => {
	const said = {};
	const collect = (doc, path) => {
		const all = said[doc.documentElement.lang] ??= {};
		const note = (text) => { if (text?.trim()) all[text.trim().replace(/\s+/g, " ")] ??= path; };
		const foreign = "script, style, code, pre, kbd, [lang]:not(html), .covers, .listens, .tracks, .details";
		for (const el of doc.querySelectorAll("body *, title")) {
			if (el.closest(foreign)) continue;
			for (const name of ["title", "aria-label", "placeholder", "alt"]) note(el.getAttribute(name));
			if (![...el.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
			note(el.textContent);
			for (const n of el.childNodes) if (n.nodeType === 3) note(n.data);
		}
	};
	if (!paths.length) collect(document, location.pathname);
	for (const path of paths) {
		const answer = await fetch(path);
		collect(new DOMParser().parseFromString(await answer.text(), "text/html"), path);
	}
	return said;
})`

// reads requires that what pages in a tab say is in one language and not in another; without pages, those that the tab
// shows.
func reads(t *testing.T, tab context.Context, language string, speaks, silent tongue, pages ...string) {
	t.Helper()
	list := "[]"
	if len(pages) > 0 {
		list = `["` + strings.Join(pages, `","`) + `"]`
	}
	said := map[string]map[string]string{}
	do(t, tab, chromedp.Evaluate(allSaid+"("+list+")", &said, awaiting))
	require.Equal(t, []string{language}, slices.Collect(maps.Keys(said)), "the languages of %s", pages)
	heard := 0
	for text, at := range said[language] {
		for _, piece := range pieces(text) {
			switch {
			case speaks.speaks(piece):
				heard++
			case silent.speaks(piece):
				t.Errorf("%s is in %s and says: %s", at, language, piece)
			}
		}
	}
	require.Greater(t, heard, 3, "nothing was read on %s: %v", fmt.Sprint(pages), said)
}

// Promise: People who read German are spoken to in German, from signing in to reconnecting, until they choose English.
func TestBrowserSpeaksGerman(t *testing.T) {
	takesLong(t)
	t.Parallel()
	english, german := sentences(t, "en"), sentences(t, "de")
	en, de := tongueOf(english, nil), tongueOf(german, nil)
	onlyEnglish, onlyGerman := tongueOf(english, german), tongueOf(german, english)
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), worldEnv(w)...)
	v := p.newcomer()
	p1 := &hands{T: t, tab: browser(t)}
	tab := p1.tab
	inGerman := func(pages ...string) { t.Helper(); reads(t, tab, "de", de, onlyEnglish, pages...) }

	do(t, tab, prefer("de-DE"), chromedp.Navigate(p.url+"/login"), sees("h1", "Anmelden"))
	inGerman()
	p1.types("input[name=name]", "alice", "input[name=password]", "falsch")
	p1.click("main form button")
	do(t, tab, chromedp.WaitVisible(".problem", byQuery))
	inGerman()
	p1.types("input[name=password]", password)
	p1.click("main form button")
	do(t, tab, holds(`document.body?.dataset.linked === "yes"`))
	inGerman()

	do(t, tab, chromedp.Navigate(p.url+"/connect/listenbrainz"))
	p1.types("#field-token", "falsch")
	p1.click("main form.fields > button")
	do(t, tab, chromedp.WaitVisible(".problem", byQuery))
	inGerman()
	p1.types("#field-token", w.ListenBrainz.Token(demo.Alice))
	p1.click("main form.fields > button")
	do(t, tab, sees(".flash", "ListenBrainz ist verbunden"), holds(`document.body?.dataset.linked === "yes"`))
	v.becomes("listenbrainz", "healthy")

	// It breaks: what is said live is German, too.
	require.NoError(t, w.Switch(demo.ListenBrainz, demo.Revoked))
	do(t, tab, sees(".toast", "ListenBrainz"), sees(".toast .button", "Neu verbinden"),
		holds(`document.querySelector("#banners .banner") !== null`))
	v.becomes("listenbrainz", "needs_reconnect")
	inGerman()
	pages := v.walk()
	require.Greater(t, len(pages), 15)
	pages = slices.DeleteFunc(pages, func(at string) bool { return !soak.Part(t, at) })
	inGerman(pages...)
	do(t, tab, chromedp.Navigate(p.url+"/"))
	p1.click(".toast a.button, #overview .card.loud a.button")
	p1.types("#field-token", w.ListenBrainz.Token(demo.Alice))
	inGerman()
	p1.click("main form.fields > button")
	do(t, tab, sees(".flash", "ListenBrainz ist verbunden"), gone("#banners .banner"))

	// English by choice, although the browser speaks German.
	do(t, tab, chromedp.Navigate(p.url+"/settings/account"), sees("h1", "Dein Konto"),
		chromedp.SetValue(`select[name=language]`, "en", byQuery))
	p1.click("#look form button")
	do(t, tab, sees("h1", "Your account"), sees(".flash", english[".account.look_saved"]))
	reads(t, tab, "en", en, onlyGerman)
	reads(t, tab, "en", en, onlyGerman, pages...)
}
