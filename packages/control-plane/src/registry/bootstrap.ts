import { cloneJson } from '../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { formatTime } from '../apimachinery/objects/object-text.ts';
import { systemObjects } from '../kinds/index.ts';
import type { Call, Registry } from '../resources/registry.ts';
import { normalize } from './bodies/decode.ts';
import { createObject } from './writes/create.ts';

const NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'].map((name) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name },
}));

const OPTIONS = { dryRun: false, fieldValidation: 'Ignore', force: false } as const;

/**
 * Creates an object unless it exists.
 * @param uid the UID of the object; without `uid`, the UID is random
 * @throws StatusError if the object is invalid
 */
export async function ensureObject(
  registry: Registry,
  call: Call,
  object: ApiObject,
  fieldManager = 'kube-apiserver',
  uid?: string,
): Promise<void> {
  const served = registry.kinds.byKind(object.apiVersion, object.kind);
  if (served === undefined) throw new Error(`no kind ${object.kind} in ${object.apiVersion} is served`);
  const { name = '', namespace = '' } = object.metadata;
  if (registry.store.get(served.resource, namespace, name) !== undefined) return;
  const copy = cloneJson(object);
  normalize(copy, served);
  const target = { served, namespace, name: '', subresource: '' };
  await createObject(registry, call, target, copy, { ...OPTIONS, fieldManager }, { uid });
}

/** Returns the stored form of an object with another creation time and another UID. */
export const stamped = (object: ApiObject, uid: string, time: string): ApiObject => ({
  ...object,
  metadata: {
    ...object.metadata,
    uid,
    creationTimestamp: time,
    managedFields: (object.metadata.managedFields ?? []).map((entry) => ({ ...entry, time })),
  },
});

const known = new WeakMap<object, ApiObject>();

/** Creates an object that never changes. If an object with this name exists, the function creates nothing. */
async function ensureConstant(registry: Registry, call: Call, object: ApiObject, fieldManager?: string): Promise<void> {
  const served = registry.kinds.byKind(object.apiVersion, object.kind);
  const { name = '', namespace = '' } = object.metadata;
  const stored = known.get(object);
  if (served === undefined || stored === undefined) {
    await ensureObject(registry, call, object, fieldManager);
    const record = served && registry.store.get(served.resource, namespace, name);
    if (served && record?.revision === registry.store.revision()) known.set(object, registry.parse(served, record));
  } else if (registry.store.get(served.resource, namespace, name) === undefined) {
    registry.put(served, stamped(stored, registry.uid(), formatTime(registry.now())));
  }
}

export async function ensureSystemObjects(registry: Registry, call: Call): Promise<void> {
  for (const namespace of NAMESPACES) await ensureConstant(registry, call, namespace);
  for (const { object, fieldManager } of systemObjects) await ensureConstant(registry, call, object, fieldManager);
}
