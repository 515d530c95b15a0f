import type { Findings } from '../../apimachinery/errors/findings.ts';
import { qualifiedNameProblems } from '../../apimachinery/errors/names.ts';
import { given } from '../../apimachinery/objects/empties.ts';
import { labels, type Plain } from '../../apimachinery/objects/plain.ts';
import { labelFindings } from './selector.ts';

const ANNOTATIONS_LIMIT = 256 * 1024;

/** Validates the keys of annotations and their total size in bytes. */
export function annotationFindings(findings: Findings, map: Readonly<Record<string, string>>, at: string): void {
  for (const key of Object.keys(map)) findings.problems(at, key, qualifiedNameProblems(key.toLowerCase()));
  const size = Object.entries(map).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(value)),
    0,
  );
  if (size > ANNOTATIONS_LIMIT) findings.tooLong(at, ANNOTATIONS_LIMIT);
}

/** The forbidden fields have the order of Go's type. */
const FORBIDDEN: readonly (readonly [field: string, shown: string])[] = [
  ...['name', 'generateName', 'namespace', 'selfLink'].map((field) => [field, field] as const),
  ['uid', 'uID'],
  ...[
    'resourceVersion',
    'generation',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
    'ownerReferences',
    'finalizers',
    'managedFields',
  ].map((field) => [field, field] as const),
];

/** The fields that are pointers in Go. In a pointer field, a zero or an empty list counts as set. */
const POINTERS: ReadonlySet<string> = new Set([
  'deletionGracePeriodSeconds',
  'deletionTimestamp',
  'ownerReferences',
  'finalizers',
  'managedFields',
]);

/** Validates the metadata in the template of another object (`ValidateTemplateObjectMeta`). */
export function templateMetadataFindings(findings: Findings, metadata: Plain, at: string): void {
  annotationFindings(findings, labels(metadata, 'annotations'), `${at}.annotations`);
  labelFindings(findings, labels(metadata, 'labels'), `${at}.labels`);
  for (const [field, shown] of FORBIDDEN) {
    const value = given(metadata, field);
    const isZero = !POINTERS.has(field) && (value === '' || value === 0);
    if (value !== null && !isZero) findings.forbidden(`${at}.${shown}`, 'cannot be set');
  }
}
