import { cloneJson } from '../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import type { Call, Registry } from '../resources/registry.ts';
import { normalize } from './bodies/decode.ts';
import { createObject } from './writes/create.ts';

const NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

const OPTIONS = { dryRun: false, fieldValidation: 'Ignore', force: false } as const;

/**
 * @param uid the UID of the object; random if absent
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

export async function ensureSystemObjects(registry: Registry, call: Call): Promise<void> {
  for (const name of NAMESPACES) {
    await ensureObject(registry, call, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
}
