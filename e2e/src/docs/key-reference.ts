import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './sources.ts';
import { GENERATED, table } from './text/markdown.ts';

/** The source files with the keys of labels and annotations. */
const FILES: Readonly<Record<string, readonly string[]>> = {
  'Labels of machines': ['packages/api/src/constants/labels.ts'],
  'Annotations of machines': [
    'packages/api/src/constants/annotations.ts',
    'apps/mcm/src/rollout/actions.ts',
    'providers/aws/src/driver/placement.ts',
  ],
  'Labels of ConfigMaps': ['packages/core/src/driver/contract/bundle.ts', 'packages/core/src/evidence/kept-vms.ts'],
  'Annotations of Leases': ['packages/kube/src/types/lease-annotations.ts'],
  'Annotations of namespaces in a fleet': ['packages/kube/src/types/fleet-annotations.ts'],
  'Keys of clusters in a fleet': ['packages/kube/src/types/fleet-source-keys.ts'],
  'Labels of machine configs': ['packages/machine-config/src/constants/labels.ts'],
  'Annotations of machine configs': ['packages/machine-config/src/constants/annotations.ts'],
};

export interface KeyEntry {
  readonly key: string;
  readonly means: string;
}

const ENTRY = /(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*)?^ {2}\w+: '([^']+)',$/gm;
/** Matches the constants that contain keys. */
const KEY_CONSTANTS = /^(?:export )?const \w*(?:Labels|Annotations) = \{\n[\s\S]*?^\} as const;$/gm;

const words = (comment: string): string =>
  comment
    .replaceAll(/^\s*\*\s?/gm, ' ')
    .replaceAll(/\{@link (?:\w+\.)?(\w+)\}/g, '`$1`')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** Returns the keys in a source file. */
export const keysIn = (text: string): readonly KeyEntry[] =>
  [...text.matchAll(KEY_CONSTANTS)].flatMap(([constant]) =>
    [...constant.matchAll(ENTRY)].map(([, comment = '', key = '']) => ({ key, means: words(comment) })),
  );

const keysOf = (file: string): readonly KeyEntry[] => keysIn(readFileSync(join(ROOT, file), 'utf8'));

/** Returns all keys of labels and annotations that the code reads or writes. */
export const allKeys = (): readonly KeyEntry[] => Object.values(FILES).flat().flatMap(keysOf);

/**
 * Matches the use of a key that belongs to no group of constants: a single constant, or a text such as
 * `labels?.['key']`.
 */
const USE = /(?:annotations|labels)(?:\?\.)?\[(?:'([^']+)'|([A-Z][A-Z_]*))\]/g;
/** Matches the keys of Kubernetes, OpenShift and kubectl. */
const FOREIGN = /(?:^|\.)(?:kubernetes\.io|k8s\.io)\/|^openshift\.io\//;

/** Returns the keys that a source file uses directly, as a text or as a single constant. */
export const looseKeysIn = (text: string): readonly string[] =>
  [...text.matchAll(USE)]
    .map(
      ([, key, constant]) => key ?? new RegExp(`^(?:export )?const ${constant} = '([^']+)'`, 'm').exec(text)?.[1] ?? '',
    )
    .filter((key) => key !== '' && !FOREIGN.test(key));

/** Generates the page about labels and annotations from the constants and their comments. */
export function keyReferenceFiles(): ReadonlyMap<string, string> {
  const sections = Object.entries(FILES).map(([heading, files]) => {
    const rows = files.flatMap(keysOf).map(({ key, means }) => [`\`${key}\``, means]);
    return `## ${heading}\n\n${table(['Key', 'Object and meaning'], rows)}\n`;
  });
  const text = [
    GENERATED,
    '# Labels and annotations\n',
    'This page lists every label and annotation that the controllers read or write. The page is for operators, and for authors of tools that read labels and annotations.\n',
    '```sh\nkubectl get machines -L node,name,machine-template-hash\n```\n',
    ...sections,
  ];
  return new Map([['docs/reference/keys.md', text.join('\n')]]);
}
