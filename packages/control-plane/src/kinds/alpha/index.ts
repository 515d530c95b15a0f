import type { KindDefinition } from '../../apimachinery/objects/kind.ts';
import { LIFECYCLE, lifecycleKinds } from './lifecycle.ts';

export { LIFECYCLE } from './lifecycle.ts';

const ALPHA: ReadonlyMap<string, readonly KindDefinition[]> = new Map([[LIFECYCLE, lifecycleKinds]]);

export const alphaVersions: readonly string[] = [...ALPHA.keys()];

/** @throws Error for an unknown alpha version */
export const alphaKinds = (versions: Iterable<string>): readonly KindDefinition[] =>
  [...new Set(versions)].flatMap((version) => {
    const kinds = ALPHA.get(version);
    if (kinds === undefined) throw new Error(`no alpha API is named ${version}; there is ${alphaVersions.join(', ')}`);
    return kinds;
  });
