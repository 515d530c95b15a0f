/** Text that is safe to stand in a page: made by `html` only, which escapes whatever is put into it. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** What may be put into a page: text is escaped, lists are joined, what is absent leaves nothing. */
export type Part = Html | string | number | undefined | readonly Part[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Characters that draw nothing, or turn the reading direction of what follows: a name must not be able to look like another. */
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

/** Markup with values in it. Values are escaped for text and for attributes in quotes, and must stand nowhere else. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(strings.map((string, index) => string + written(parts[index])).join(''));
