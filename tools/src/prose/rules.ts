import type { Paragraph, Root, Sentence } from 'nlcst';
import { search } from 'nlcst-search';
import { toString as plainText } from 'nlcst-to-string';
import { ParseEnglish } from 'parse-english';
import { visit } from 'unist-util-visit';
import { CODE, type Kind, type Text } from './texts.ts';

export const RULES = ['phrase', 'person', 'pronoun', 'sentence', 'cell', 'fragment', 'cause', 'repeat'] as const;

export type Rule = (typeof RULES)[number];

export interface Violation {
  rule: Rule;
  line: number;
  message: string;
}

export type Phrases = Readonly<Record<string, string>>;

const CODES = new RegExp(CODE, 'g');
const MAX_CELL = 200;
const MAX_WORDS: Partial<Record<Kind, number>> = { doc: 25, comment: 25, message: 20 };

/** After a noun for persons, `who` is correct. */
const PERSONS = new Set(
  `administrator administrators author authors contributor contributors developer developers everyone engineer engineers maintainer maintainers operator
  operators people person persons reader readers researcher researchers team teams those user users`.split(/\s+/),
);

const POINTS_BACK =
  /^(?:It|Its|They|Their|Them|Then|(?:This|These|Those|That) (?:is|are|was|were|has|have|can|cannot|may|must|does|do|means?|would|will)|(?:Absent|Defined|Empty|Null|Present|Undefined) (?:for|if|in|only|unless|when|while|without))\b/;
/** A page is read in its order, so `This` may refer to the sentence before. */
const BACK =
  /^(?:It|Its|They|Their|Them|Such|Therefore|Otherwise|However|(?:With|Without|For|In|By) (?:such|this|these|those) (?!page|section|repository|folder|mode|example))\b/;
/** Matches the condition at the start of a sentence. */
const CONDITION = /^(?:After|At|Before|During|For|If|In|While|When|With|Without) [^,]{2,80}(?=, )/;
/** The kinds of texts whose sentences have their own subject. A page may start a step with "Then". */
const OWN_SUBJECT: Partial<Record<Kind, RegExp>> = {
  comment: POINTS_BACK,
  doc: BACK,
  cell: BACK,
};

/** Matches the start of a message that is only the end of a sentence. */
const FRAGMENT = /^(?:[,;:]|(?:and|but|or|so|which|whose|who|that)\b)/;
/** A short end of a message such as `and 3 more` is clear. */
const MIN_FRAGMENT = 5;
const ORIGINAL_OR_REASON = /\boriginal\b.*\breason\b|\breason\b.*\boriginal\b/i;

const english = new ParseEnglish();

/** Checks a text against the rules of docs/contributing/writing.md that a program can decide. */
export function check(whole: Text, phrases: Phrases): Violation[] {
  return [...checkSentences(whole, phrases), ...checkStart(whole)];
}

function checkStart({ kind, line, text, headings: [column = ''] = [] }: Text): Violation[] {
  if (kind === 'message' && FRAGMENT.test(text) && text.split(' ').length >= MIN_FRAGMENT)
    return [
      { rule: 'fragment', line, message: `a message that is only the end of a sentence: "${text.slice(0, 60)}…"` },
    ];
  if (kind === 'cell' && ORIGINAL_OR_REASON.test(column) && !/^(?:[^.;]*\boriginal\b|reason: )/.test(text))
    return [
      {
        rule: 'cause',
        line,
        message: `a cell must contain "the original" or begin with "reason: ": "${text.slice(0, 60)}…"`,
      },
    ];
  return [];
}

function checkSentences({ kind, line, text, shown = text.length, code = [] }: Text, phrases: Phrases): Violation[] {
  // The help of a command contains a table of options, which is not a sentence.
  const most = /^usage:/im.test(text) ? Number.POSITIVE_INFINITY : (MAX_WORDS[kind] ?? Number.POSITIVE_INFINITY);
  const searched = mayContain(phrases, text);
  // Parsing takes most of the time.
  const start = OWN_SUBJECT[kind];
  const short = text.split(/[\s/–—-]+/).length <= most;
  const mayRepeat = kind === 'doc' && /\. (?:After|At|Before|During|For|If|In|While|When|With|Without) /.test(text);
  if (!searched && !/\bwho\b/i.test(text) && short && kind !== 'cell' && !mayRepeat && !mayPointBack(start, text))
    return [];
  const tree = parsed(text);
  const found: Violation[] = [];
  const add = (rule: Rule, offset: number | undefined, message: string) =>
    found.push({ rule, line: line + newlines(text.slice(0, offset ?? 0)), message });

  if (searched) {
    search(tree, Object.keys(phrases), (nodes, _index, _parent, phrase) => {
      add('phrase', nodes[0]?.position?.start.offset, `"${phrase}" → ${phrases[phrase]}`);
    });
  }
  for (const at of programsAsPersons(tree)) add('person', at, '`who` → name the component');
  const codes = [...code];
  let condition: string | undefined;
  visit(tree, 'SentenceNode', (sentence) => {
    const shownText = plainText(sentence).replace(/\s+/g, ' ').trim();
    const shownStart = shownText.slice(0, 60);
    const before = condition;
    condition = CONDITION.exec(shownText.replace(CODES, (placeholder) => codes.shift() ?? placeholder))?.[0];
    if (kind === 'doc' && condition !== undefined && condition === before)
      add(
        'repeat',
        sentence.position?.start.offset,
        `the sentence repeats the condition of the previous sentence: "${condition}"`,
      );
    const offset = sentence.position?.start.offset;
    if (start?.test(shownStart)) add('pronoun', offset, `a sentence without its own subject: "${shownStart}…"`);
    const words = wordsOf(sentence).length;
    if (words > most) add('sentence', offset, `a sentence of ${words} words, at most ${most}: "${shownStart}…"`);
  });
  if (kind === 'cell' && shown > MAX_CELL) {
    add('cell', 0, `a table cell of ${shown} characters, at most ${MAX_CELL}: "${text.slice(0, 60)}…"`);
  }
  return found;
}

/**
 * Parses the text as a tree.
 * - The parser joins a sentence with the previous sentence if it starts with a small letter, like the name `mcm`.
 * - Each item of a list becomes a paragraph.
 */
function parsed(text: string): Root {
  return english.parse(text.replace(/(?<=[.!?:]\s)mcm\b/g, 'Mcm').replace(/\n[-*] /g, '\n\n '));
}

const patterns = new WeakMap<Phrases, RegExp>();

/**
 * Returns true if a text may contain a phrase. The exact search ignores accents and apostrophes, so texts with such
 * characters are always searched.
 */
function mayContain(phrases: Phrases, text: string): boolean {
  let pattern = patterns.get(phrases);
  if (pattern === undefined) {
    const words = Object.keys(phrases).map((phrase) => phrase.split(' ').join('[^a-z0-9]+'));
    pattern = new RegExp(`\\b(?:${words.join('|')})\\b|[’'\u00C0-\u024F]`, 'i');
    patterns.set(phrases, pattern);
  }
  return pattern.test(text);
}

/** Returns true if a sentence of a text may start with a pronoun. */
const mayPointBack = (start: RegExp | undefined, text: string): boolean =>
  start !== undefined && text.split(/(?<=[.!?:;])\s+|\n[-*]? */).some((part) => start.test(part));

export function sentencesOf(text: string): string[] {
  const found: string[] = [];
  visit(parsed(text), 'SentenceNode', (sentence) => {
    found.push(
      plainText(sentence)
        .replace(/\s+/g, ' ')
        .trim()
        .replace(/(?<=^|[.!?:]\s)Mcm\b/g, 'mcm'),
    );
  });
  return found;
}

function programsAsPersons(tree: Root): (number | undefined)[] {
  const found: (number | undefined)[] = [];
  visit(tree, 'SentenceNode', (sentence) => {
    const words = wordsOf(sentence);
    words.forEach((word, index) => {
      if (word.text !== 'who' || PERSONS.has(words[index - 1]?.text ?? '')) return;
      found.push(word.offset);
    });
  });
  return found;
}

function wordsOf(node: Sentence | Paragraph): { text: string; offset: number | undefined }[] {
  const found: { text: string; offset: number | undefined }[] = [];
  visit(node, 'WordNode', (word) => {
    found.push({ text: plainText(word).toLowerCase(), offset: word.position?.start.offset });
  });
  return found;
}

function newlines(text: string): number {
  return text.split('\n').length - 1;
}
