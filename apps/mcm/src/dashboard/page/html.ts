/** Escaped text of a page. Only `html` creates it. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** A value in a template: text is escaped, lists are joined, undefined is empty. */
export type Part = Html | string | number | undefined | readonly Part[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Invisible characters and characters that change the reading direction. They could make one name look like another. */
const INVISIBLE = /[\p{Cc}\p{Bidi_Control}]/gu;

function escaped(text: string): string {
  const visible = text.replace(INVISIBLE, (char) => (char === '\n' || char === '\t' ? char : '\uFFFD'));
  return visible.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
}

function written(part: Part): string {
  if (part === undefined) return '';
  if (part instanceof Html) return part.text;
  return typeof part === 'object' ? part.map(written).join('') : escaped(String(part));
}

/** Markup with values. The escaping is only correct in text and in quoted attributes, so values must not be used elsewhere. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(strings.map((string, index) => string + written(parts[index])).join(''));
