#!/usr/bin/env bash
# update.sh: fetches what this folder holds from npm, in the versions below, and makes the sprite: one SVG with the icons
# of icons.list as "icon-NAME" and the marks of services in marks.list as "mark-NAME". Run it with `go generate
# ./web/static` after a change of a version or a list.
set -euo pipefail
cd "$(dirname "$0")"

idiomorph=0.8.0 uplot=1.6.32 lucide=1.62.0 simple=16.37.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fetch() { # fetch NAME VERSION: unpacks a package of npm
  (cd "$work" && npm pack --silent "$1@$2" >/dev/null)
  mkdir "$work/$1"
  tar -xzf "$work/$1-$2.tgz" -C "$work/$1" --strip-components=1
}
fetch idiomorph $idiomorph
fetch uplot $uplot
fetch lucide-static $lucide
fetch simple-icons $simple

cp "$work/idiomorph/dist/idiomorph.min.js" "$work/uplot/dist/uPlot.iife.min.js" "$work/uplot/dist/uPlot.min.css" .
{
  printf 'idiomorph %s (npm), 0BSD\n\n' $idiomorph; cat "$work/idiomorph/LICENSE"
  printf '\n\nuPlot %s (npm), MIT\n\n' $uplot; cat "$work/uplot/LICENSE"
  printf '\n\nlucide-static %s (npm), ISC and MIT\n\n' $lucide; cat "$work/lucide-static/LICENSE"
  printf '\n\nsimple-icons %s (npm), CC0 1.0: marks of services\n\n' $simple; cat "$work/simple-icons/LICENSE.md"
} >LICENCES.txt

inner() { # inner FILE: the elements in an SVG, without the title that the page gives, on one line
  tr '\n' ' ' <"$1" | sed -E 's/<!--[^>]*-->//g; s/<svg[^>]*>//; s/<\/svg>//; s/<title>[^<]*<\/title>//; s/  +/ /g;
    s/> +</></g; s/^ | $//g'
}
{
  echo '<svg xmlns="http://www.w3.org/2000/svg">'
  while read -r name; do
    printf '<symbol id="icon-%s" viewBox="0 0 24 24">%s</symbol>\n' "$name" "$(inner "$work/lucide-static/icons/$name.svg")"
  done <icons.list
  # A mark is that of simple-icons, or a letter where it has none: "NAME FILE" or "NAME =LETTER".
  while read -r name what; do
    if [[ $what == =* ]]; then
      text='<rect x="1.5" y="1.5" width="21" height="21" rx="6" fill="none" stroke="currentColor" stroke-width="2"/>'
      text+='<text x="12" y="16.5" text-anchor="middle" font-family="system-ui, sans-serif" font-size="13"'
      text+=" font-weight=\"700\" fill=\"currentColor\">${what#=}</text>"
    else
      text=$(inner "$work/simple-icons/icons/$what.svg")
    fi
    printf '<symbol id="mark-%s" viewBox="0 0 24 24">%s</symbol>\n' "$name" "$text"
  done <marks.list
  echo '</svg>'
} >sprite.svg
