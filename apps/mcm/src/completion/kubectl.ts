import type { Command } from 'commander';
import type { Line } from './names.ts';
import { acceptsFiles } from './objects.ts';
import { type Flag, type Place, placesOf } from './places.ts';

/** cobra, the command library of kubectl, decides by the last line of the output whether to offer file names. */
const DIRECTIVES = { words: ':4', files: ':0' } as const;

/** Returns the completions for `kubectl mcm WORDS`, in the format that kubectl reads from `kubectl_complete-mcm`. */
export function kubectlCompletions(program: Command, words: readonly string[]): readonly string[] {
  const places = new Map(placesOf(program, []).map((place) => [place.path, place]));
  const { path, flag: given = '', begun } = lineOf(places, words);
  const place = places.get(path);
  if (place === undefined) return [DIRECTIVES.files];
  const takes = flagOf(place, given)?.values;
  if (takes?.length === 0) return [acceptsFiles(given) ? DIRECTIVES.files : DIRECTIVES.words];
  if (takes === undefined && place.files && !begun.startsWith('-')) return [DIRECTIVES.files];
  return [...offers(takes ?? offered(place, begun), begun), DIRECTIVES.words];
}

function lineOf(places: ReadonlyMap<string, Place>, words: readonly string[]): Line {
  const before = words.slice(0, -1);
  const path = before.reduce((known, word) => {
    const next = known === '' ? word : `${known} ${word}`;
    return places.has(next) ? next : known;
  }, '');
  const last = words.at(-1) ?? '';
  // After `--flag=`, the user is typing the value.
  const [, joined = '', value = ''] = /^(--?[^=]+)=(.*)$/s.exec(last) ?? [];
  const [flag, begun] = joined === '' ? [before.at(-1) ?? '', last] : [joined, value];
  const takesValue = flagOf(places.get(path), flag)?.values !== undefined;
  return takesValue ? { path, before, begun, flag } : { path, before, begun: last };
}

const flagOf = (place: Place | undefined, name: string): Flag | undefined =>
  place?.flags.find(({ names }) => names.includes(name));

/** Returns the completions, including the names of objects, contexts, namespaces and logs. */
export async function completions(program: Command, words: readonly string[]): Promise<readonly string[]> {
  const line = lineOf(new Map(placesOf(program, []).map((place) => [place.path, place])), words);
  const { namesFor } = await import('./names.ts');
  const names = line.begun.startsWith('-') ? [] : await namesFor(line);
  const known = kubectlCompletions(program, words);
  return names.length === 0 ? known : [...known.slice(0, -1), ...names, DIRECTIVES.words];
}

/** Flags are offered only after a `-`, because most commands have many flags. */
const offered = ({ commands, values, flags }: Place, begun: string): readonly string[] =>
  begun.startsWith('-') ? flags.flatMap(({ names }) => names) : [...commands, ...values];

const offers = (all: readonly string[], begun: string): readonly string[] =>
  all.filter((word) => word.startsWith(begun));

export const kubectlScript = (name: string): string =>
  `#!/bin/sh
# completion of "kubectl ${name}". Run: ${name} completion kubectl > kubectl_complete-${name}. Make that file executable, and move the file to a directory of the PATH.
exec kubectl ${name} __complete "$@"
`;
