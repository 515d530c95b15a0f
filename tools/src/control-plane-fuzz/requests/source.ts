import type { Draw } from './draw.ts';
import { isJsonObject } from './json.ts';
import type { Kind, Samples } from './kinds.ts';
import type { Schemas } from './schema.ts';

/** The random choices, kinds and schemas from which the fuzzer generates the steps of a case. */
export interface Source {
  readonly draw: Draw;
  readonly schemas: Schemas;
  readonly samples: Samples;
}

/**
 * Matches kinds whose objects affect the whole cluster, and kinds whose objects kube-apiserver writes by itself.
 * Requests for these kinds contain `dryRun=All`, so that cases do not affect each other.
 */
const GUARDED = /^(admissionregistration|apiregistration|apiextensions|flowcontrol)\.|\/(ServiceCIDR|IPAddress)$/;
export const isGuarded = ({ apiVersion, kind }: Kind): boolean => GUARDED.test(`${apiVersion}/${kind}`);

/** Returns a random object name from the few names of a fuzz case. */
export const nameOf = (draw: Draw, kind: Kind): string => {
  const metadata = kind.samples[0]?.['metadata'];
  const own = isJsonObject(metadata) ? String(metadata['name']) : 'a';
  const name =
    own === 'a'
      ? draw.weigh([
          [7, 'a'],
          [3, 'b'],
        ])
      : own; // prettier-ignore
  return kind.namespaced || own !== 'a' ? name : `${name}-\${id}`;
};

export const target = (path: string, query: readonly string[]): string =>
  query.length === 0 ? path : `${path}?${query.join('&')}`;
