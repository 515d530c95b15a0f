import type { KindDefinition } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { initialCrdStatus } from '../../crd/index.ts';
import { stamped } from '../bootstrap.ts';

/** All control planes of the process share the kinds, so the process compiles each schema only once. */
export interface ReadyCrd {
  readonly crd: ApiObject;
  readonly kinds: readonly KindDefinition[];
}

const known = new WeakMap<object, ReadyCrd & { readonly text: string }>();

export function keepReady(given: ApiObject, ready: ReadyCrd): void {
  known.set(given, { ...ready, text: JSON.stringify(given) });
}

/** Returns the stored form of a CRD. */
export function readyCrd(given: ApiObject): ReadyCrd | undefined {
  const ready = known.get(given);
  return ready?.text === JSON.stringify(given) ? ready : undefined;
}

interface Stamp {
  readonly uid: string;
  readonly time: string;
}

/** Returns the CRD after its first status, with another UID and other times. */
export function settledAt({ crd }: ReadyCrd, { uid, time }: Stamp): ApiObject {
  const { status } = crd;
  const { conditions } = status as { readonly conditions: readonly object[] };
  return {
    ...stamped(crd, uid, time),
    status: {
      ...(status as object),
      conditions: conditions.map((condition) => ({ ...condition, lastTransitionTime: time })),
    },
  };
}

/** Returns the CRD as it was before its first status. */
export const createdAs = (settled: ApiObject): ApiObject => ({
  ...settled,
  metadata: {
    ...settled.metadata,
    managedFields: (settled.metadata.managedFields ?? []).filter(({ subresource }) => subresource === undefined),
  },
  status: initialCrdStatus({ ...settled, status: undefined }),
});
