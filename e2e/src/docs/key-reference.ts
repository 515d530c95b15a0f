import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './sources.ts';
import { GENERATED, table } from './text/markdown.ts';

/** The files that hold the keys of labels and annotations, by the heading of their keys. */
const FILES = {
  'Labels of machines': 'packages/api/src/constants/labels.ts',
  'Annotations of machines': 'packages/api/src/constants/annotations.ts',
  'Labels of machine configs': 'packages/machine-config/src/constants/labels.ts',
  'Annotations of machine configs': 'packages/machine-config/src/constants/annotations.ts',
} as const;

/** A key on the wire, with what its comment in the code says. */
export interface KeyEntry {
  readonly key: string;
  readonly means: string;
}

/** An entry of a constant, with the comment above it. */
const ENTRY = /(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*)?^ {2}\w+: '([^']+)',$/gm;
/** The constants that hold keys; others in these files hold values. */
const KEY_CONSTANTS = /^export const \w*(?:Labels|Annotations) = \{\n[\s\S]*?^\} as const;$/gm;

const words = (comment: string): string =>
  comment
    .replaceAll(/^\s*\*\s?/gm, ' ')
    .replaceAll(/\{@link (?:\w+\.)?(\w+)\}/g, '`$1`')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** The keys in the text of a file of constants. */
export const keysIn = (text: string): readonly KeyEntry[] =>
  [...text.matchAll(KEY_CONSTANTS)].flatMap(([constant]) =>
    [...constant.matchAll(ENTRY)].map(([, comment = '', key = '']) => ({ key, means: words(comment) })),
  );

const keysOf = (file: string): readonly KeyEntry[] => keysIn(readFileSync(join(ROOT, file), 'utf8'));

/** Every key of a label or an annotation that the code reads or writes. */
export const allKeys = (): readonly KeyEntry[] => Object.values(FILES).flatMap(keysOf);

/** The page of labels and annotations, made of the constants and their comments. */
export function keyReferenceFiles(): ReadonlyMap<string, string> {
  const sections = Object.entries(FILES).map(([heading, file]) => {
    const rows = keysOf(file).map(({ key, means }) => [`\`${key}\``, means]);
    return `## ${heading}\n\n${table(['Key', 'Object and meaning'], rows)}\n`;
  });
  const text = [
    GENERATED,
    '# Labels and annotations\n',
    'Every key that the controllers read or write.\n',
    ...sections,
  ];
  return new Map([['docs/reference/keys.md', text.join('\n')]]);
}
