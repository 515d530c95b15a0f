import { withoutUndefined } from '@mcm/kube';
import { z } from 'zod';
import { type ArmResource, TYPES } from './model.ts';

export const graphBody = z.looseObject({
  query: z.string(),
  subscriptions: z.array(z.string()).optional(),
  options: z.looseObject({ $skipToken: z.string().optional() }).nullish(),
});

const TEXT = "'((?:[^'\\\\]|\\\\.)*)'";
const plain = (text: string): string => text.replaceAll(/\\(.)/g, '$1');

/** Returns true if the text contains the term as a whole word, like the operator `has` of Kusto. */
function has(text: string, term: string): boolean {
  const escaped = term.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`(?<![a-z0-9])${escaped}(?![a-z0-9])`, 'i').test(text);
}

/** A row of a query result. The order of the keys is the order in which the resources were created. */
export interface GraphRow {
  readonly key: string;
  readonly row: {
    readonly type: string;
    readonly name: string;
    readonly owner?: string;
    readonly tagKeys?: readonly string[];
    readonly tags?: Readonly<Record<string, string>>;
  };
}

/** Evaluates the queries that the driver sends: by type, by resource group, and by the names of tags. */
export function graphRows(query: string, resources: readonly ArmResource[]): readonly GraphRow[] {
  const all = (pattern: string): string[] =>
    [...query.matchAll(new RegExp(`${pattern} ${TEXT}`, 'g'))].map(([, text = '']) => plain(text));
  const types = all('type =~').map((each) => each.toLowerCase());
  const [group = ''] = all('resourceGroup =~');
  const keys = all('tagKeys has');
  const projected = new RegExp(`owner = tostring\\(tags\\[${TEXT}\\]\\)`).exec(query)?.[1];
  return resources
    .filter(({ kind, group: of, body }) => {
      const names = Object.keys(body.tags ?? {});
      return (
        types.includes(TYPES[kind]) &&
        of.toLowerCase() === group.toLowerCase() &&
        keys.every((key) => names.some((name) => has(name, key)))
      );
    })
    .map(({ id, kind, name, body, createdAt }) => ({
      key: `${String(createdAt).padStart(15, '0')} ${id.toLowerCase()}`,
      row: withoutUndefined({
        type: TYPES[kind],
        name,
        tagKeys: /\| project [^|]*\btagKeys\b/.test(query) ? Object.keys(body.tags ?? {}) : undefined,
        tags: /\| project [^|]*, tags\b/.test(query) ? (body.tags ?? {}) : undefined,
        owner: projected === undefined ? undefined : (body.tags?.[plain(projected)] ?? ''),
      }),
    }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));
}
