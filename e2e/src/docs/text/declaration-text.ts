/** An exported declaration of a module: its name and its text, without comments and bodies. */
export interface Declaration {
  readonly name: string;
  readonly text: string;
}

const START = /^export (?:declare )?(?:abstract )?(?:async )?(const|let|function\*?|class|interface|type|enum) (\w+)/gm;
const OPENING = '([{';
const CLOSING = ')]}';

/** Removes comments from a source text. */
export const withoutComments = (text: string): string =>
  text.replaceAll(
    /('(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/g,
    (_all, quoted) => quoted ?? '',
  );

function afterString(text: string, at: number): number {
  const quote = text[at];
  let end = at + 1;
  while (end < text.length && text[end] !== quote) end += text[end] === '\\' ? 2 : 1;
  return end + 1;
}

function scan(text: string, at: number, ends: (index: number) => boolean): number {
  let depth = 0;
  for (let index = at; index < text.length; ) {
    const sign = text[index] ?? '';
    if (depth === 0 && ends(index)) return index;
    if (sign === "'" || sign === '`' || sign === '"') {
      index = afterString(text, index);
      continue;
    }
    if (OPENING.includes(sign)) depth++;
    if (CLOSING.includes(sign)) depth--;
    index++;
  }
  return text.length;
}

/** Returns whether a brace starts the body of a function. */
const isBody = (text: string, index: number): boolean =>
  text[index] === '{' && !/[:|&<,(=]\s*$|=>\s*$|\bis\s*$|\bextends\s*$/.test(text.slice(0, index));

function functionText(text: string, at: number): string {
  const end = scan(text, at, (index) => text[index] === ';' || isBody(text, index));
  return `${text.slice(at, end).trimEnd()};`;
}

const withoutValue = (member: string): string =>
  member.slice(
    0,
    scan(member, 0, (index) => member.startsWith(' = ', index)),
  );

function classText(text: string, at: number): string {
  const open = scan(text, at, (index) => text[index] === '{');
  const members: string[] = [];
  for (let from = open + 1; from < text.length; ) {
    const begin = from + (/^\s*/.exec(text.slice(from))?.[0].length ?? 0);
    if (text[begin] === '}' || begin >= text.length) break;
    const end = scan(text, begin, (index) => text[index] === ';' || isBody(text, index));
    const member = text.slice(begin, end).trimEnd();
    const isOpen = !/^(?:readonly |async |static |get |set |override )*(?:#|private |protected )/.test(member);
    if (isOpen && member !== '') members.push(`  ${withoutValue(member)};`);
    from = text[end] === '{' ? scan(text, end + 1, (index) => text[index] === '}') + 1 : end + 1;
  }
  return [`${text.slice(at, open).trimEnd()} {`, ...members, '}'].join('\n');
}

/** Returns the text of a constant: its declared type, the signature of a function, or only its name. */
function constantText(text: string, at: number): string {
  const end = scan(text, at, (index) => text[index] === ';');
  const equals = scan(text, at, (index) => /^ = /.test(text.slice(index, index + 3)));
  const head = text.slice(at, equals);
  if (/^export \w+ \w+:/.test(head)) return `${head};`;
  const value = text.slice(equals + 3, end);
  if (/^(?:async )?(?:<[\s\S]*?>)?\s*\(/.test(value)) {
    const arrow = scan(value, 0, (index) => value.startsWith('=>', index));
    if (arrow < value.length) return `${head} = ${value.slice(0, arrow).trimEnd()} => …;`;
  }
  return /^(?:-?[\d_.]+|'[^'\n]*')$/.test(value) ? `${head} = ${value};` : `${head};`;
}

function textAt(text: string, at: number, what: string): string {
  if (what.startsWith('function')) return functionText(text, at);
  if (what === 'class') return classText(text, at);
  if (what === 'const' || what === 'let') return constantText(text, at);
  if (what === 'type')
    return `${text.slice(
      at,
      scan(text, at, (index) => text[index] === ';'),
    )};`;
  const open = scan(text, at, (index) => text[index] === '{');
  return `${text.slice(
    at,
    scan(text, open + 1, (index) => text[index] === '}'),
  )}}`;
}

/** Returns all exported declarations in a source file, in their order. */
export function declarationsIn(source: string): readonly Declaration[] {
  const text = withoutComments(source);
  return [...text.matchAll(START)].map((match) => {
    const [, what = '', name = ''] = match;
    return { name, text: textAt(text, match.index, what).replaceAll(/\n\s*(?=\n)/g, '') };
  });
}
