import type { Random } from '@mcm/kube';
import { check, type Phrases, sentencesOf } from './rules.ts';
import { CODE, type Kind, type Text } from './texts.ts';

export interface Sentence {
  path: string;
  line: number;
  text: string;
}

const CODES = new RegExp(CODE, 'g');

const GROUPS: readonly { name: string; kinds: readonly Kind[]; count: number }[] = [
  { name: 'docs', kinds: ['doc', 'cell'], count: 30 },
  { name: 'comments', kinds: ['comment'], count: 30 },
  { name: 'messages', kinds: ['message'], count: 40 },
];

/** Draws random sentences for a reader, without duplicates. */
export function drawSample(
  texts: ReadonlyMap<string, readonly Text[]>,
  random: Random,
): { name: string; drawn: Sentence[] }[] {
  return GROUPS.map(({ name, kinds, count }) => {
    const each = [...texts].flatMap(([path, own]) =>
      own
        .filter(({ kind }) => kinds.includes(kind))
        .flatMap((text) => sentencesForReader(text).map((sentence) => ({ path, line: text.line, text: sentence }))),
    );
    // Generated manifests are omitted, because they repeat the descriptions of the schemas.
    const all = [...new Map(each.map((sentence) => [sentence.text, sentence])).values()];
    const drawn: Sentence[] = [];
    while (drawn.length < count && all.length > 0) {
      drawn.push(...all.splice(Math.floor(random.next() * all.length), 1));
    }
    return { name, drawn };
  });
}

/** Returns the sentences with at least four words, including their code. A table cell starts with its headings. */
function sentencesForReader({ text, code = [], headings = [] }: Text): string[] {
  const rest = [...code];
  const place = headings.length > 0 ? `[${headings.join(' · ')}] ` : '';
  return sentencesOf(text).flatMap((sentence) => {
    const shown = sentence.replace(CODES, (word) => rest.shift() ?? word);
    const words = sentence.split(' ').length;
    const codes = sentence.match(CODES)?.length ?? 0;
    return words >= 4 && codes < words / 2 ? [place + shown] : [];
  });
}

export interface Figures {
  name: string;
  words: number;
  phrases: number;
}

/** Returns the frequency of removed phrases in each kind of text. */
export function figuresOf(texts: ReadonlyMap<string, readonly Text[]>, phrases: Phrases): Figures[] {
  const groups = [...GROUPS, { name: 'test titles', kinds: ['title'] as readonly Kind[] }];
  return groups.map(({ name, kinds }) => {
    const own = [...texts.values()].flat().filter(({ kind }) => kinds.includes(kind));
    const words = own.reduce((sum, { text }) => sum + text.split(/\s+/).length, 0);
    const found = own
      .flatMap((text) => check(text, phrases))
      .filter(({ rule }) => rule === 'phrase' || rule === 'person').length;
    return { name, words, phrases: words === 0 ? 0 : (found / words) * 10_000 };
  });
}
